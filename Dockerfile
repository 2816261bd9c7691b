# The image holds one static program, the certificates that it trusts and two
# fonts: no shell, no package manager, nothing to keep up to date but itself.
# tools/image builds the same image without Docker, by the last stage of this
# file ("make image"); the tests run that one.
FROM golang:1.26-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates fonts-noto-cjk
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o bin/waybill ./cmd/waybill \
	&& scripts/image-root bin/waybill /out

FROM scratch
COPY --from=build /out/files/ /
# What was bought waits here until the database has it: give it a volume.
COPY --from=build --chown=65532:65532 /out/state/ /var/lib/waybill/
VOLUME /var/lib/waybill
USER 65532:65532
WORKDIR /
ENV PATH=/usr/local/bin
ENV HOME=/
ENV LISTEN=0.0.0.0:8080
ENV METRICS_LISTEN=0.0.0.0:9090
ENV SPOOL_DIR=/var/lib/waybill/spool
EXPOSE 8080
EXPOSE 9090
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["/usr/local/bin/waybill", "health"]
ENTRYPOINT ["/usr/local/bin/waybill"]
CMD ["serve"]
