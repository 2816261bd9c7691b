// Command zplcheck renders ZPL from standard input as a PNG on standard
// output. The label tests use it to see what a printer would print. It is a
// separate module because the renderer contains a font that the product may
// not redistribute.
//
// Usage: zplcheck [-dpi 203|300] [-width mm] [-height mm] [-label n]
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/ingridhq/zebrash"
	"github.com/ingridhq/zebrash/drawers"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "zplcheck:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("zplcheck", flag.ContinueOnError)
	dpi := flags.Int("dpi", 203, "dots an inch: 203 or 300")
	width := flags.Float64("width", 101.6, "width of the label in mm")
	height := flags.Float64("height", 152.4, "height of the label in mm")
	number := flags.Int("label", 1, "which label of the input")
	if err := flags.Parse(args); err != nil {
		return err
	}

	source, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	labels, err := zebrash.NewParser().Parse(source)
	if err != nil {
		return err
	}
	if *number < 1 || *number > len(labels) {
		return errors.New("the input has no such label")
	}

	// Printers are sold by dots per inch, but their resolution is a whole
	// number of dots per millimetre.
	dotsPerMM := 8
	if *dpi == 300 {
		dotsPerMM = 12
	}

	var picture bytes.Buffer
	err = zebrash.NewDrawer().DrawLabelAsPng(labels[*number-1], &picture, drawers.DrawerOptions{
		LabelWidthMm:  *width,
		LabelHeightMm: *height,
		Dpmm:          dotsPerMM,
	})
	if err != nil {
		return err
	}
	_, err = out.Write(picture.Bytes())
	return err
}
