module github.com/waybillhq/waybill/internal/label/zplcheck

go 1.26.0

require github.com/ingridhq/zebrash v1.26.3

require (
	github.com/fogleman/gg v1.3.0 // indirect
	github.com/golang/freetype v0.0.0-20170609003504-e2365dfdc4a0 // indirect
	github.com/ingridhq/maxicode v1.4.0 // indirect
	golang.org/x/image v0.47.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)
