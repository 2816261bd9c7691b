module example.com/carrier-plugin-go

go 1.24
