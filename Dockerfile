# CI has no Docker engine and does not exercise this file: it is kept small.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /waybill ./cmd/waybill

FROM debian:bookworm-slim
# Chinese, Japanese and Korean on labels need the Noto CJK fonts; the other
# scripts are in the binary.
RUN apt-get update \
	&& apt-get install -y --no-install-recommends ca-certificates fonts-noto-cjk \
	&& rm -rf /var/lib/apt/lists/*
COPY --from=build /waybill /usr/local/bin/waybill
USER 65532:65532
EXPOSE 8080
ENV LISTEN=0.0.0.0:8080
ENTRYPOINT ["waybill"]
CMD ["serve"]
