package inspect

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"slices"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
)

// The sheet's measures in pixels.
const (
	cell   = 64
	gap    = 4
	margin = 170 // width of the names of the classes
)

// WriteContactSheet writes a PNG of examples to path: up to rows classes of the fine
// column, evenly chosen, with up to cols images each, evenly chosen. For a set without
// labels it shows as many images in their order. An image that cannot be read is a
// crossed-out cell. rows and cols must be positive. A sheet that exceeds the limit of
// package budget is an error; so is a ctx that is done (ctx.Err(), wrapped).
func WriteContactSheet(ctx context.Context, path string, d *data.Dataset, rows, cols int) error {
	if rows < 1 || cols < 1 {
		return fmt.Errorf("a sheet of %d rows and %d columns: want at least 1", rows, cols)
	}
	if d.Source == nil {
		return fmt.Errorf("data set %s has features but no images", d.Name)
	}
	names, members, err := selectExamples(d, rows, cols)
	if err != nil {
		return err
	}
	classes := pickEvenly(len(members), rows)
	most := 0
	for _, id := range classes {
		most = max(most, len(members[id]))
	}
	cols = min(cols, most)
	size := budget.Product(4, budget.Sum(margin, budget.Product(int64(cols), cell+gap)),
		budget.Sum(gap, budget.Product(int64(len(classes)), cell+gap)))
	if err := budget.Check(fmt.Sprintf("a sheet of %d x %d images", len(classes), cols), size); err != nil {
		return err
	}
	sheet := image.NewRGBA(image.Rect(0, 0, margin+cols*(cell+gap), len(classes)*(cell+gap)+gap))
	draw.Draw(sheet, sheet.Bounds(), image.White, image.Point{}, draw.Src)
	var e imageReader
	for row, id := range classes {
		y := gap + row*(cell+gap)
		drawText(sheet, gap, y+cell/2+4, names[id])
		for col, k := range pickEvenly(len(members[id]), cols) {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("the sheet's class %d of %d: %w", row+1, len(classes), err)
			}
			e.paint(ctx, sheet, image.Pt(margin+col*(cell+gap), y), d, members[id][k])
		}
	}
	return atomic.WriteFile(path, func(w io.Writer) error { return png.Encode(w, sheet) })
}

// selectExamples lists the samples of every class, with its name; without labels, as many
// samples as a sheet of the given size holds, in rows without names.
func selectExamples(d *data.Dataset, rows, cols int) (names []string, members [][]int, err error) {
	if len(d.Columns) == 0 {
		most := min(int64(d.Len()), budget.Product(int64(rows), int64(cols)))
		members = slices.Collect(slices.Chunk(pickEvenly(d.Len(), int(most)), cols))
		return make([]string, len(members)), members, nil
	}
	fine, err := d.Column("fine")
	if err != nil {
		return nil, nil, err
	}
	members = make([][]int, len(fine.Classes))
	for i, id := range fine.IDs {
		members[id] = append(members[id], i)
	}
	return fine.Classes, members, nil
}

// pickEvenly picks up to k of 0..n-1.
func pickEvenly(n, k int) []int {
	out := make([]int, 0, min(n, k))
	for i := range min(n, k) {
		out = append(out, i*n/min(n, k))
	}
	return out
}

// drawText puts text at the left, cut to fit the margin.
func drawText(sheet draw.Image, x, y int, text string) {
	f := basicfont.Face7x13
	if most := (margin - 2*gap) / f.Advance; len(text) > most {
		text = text[:most-1] + "~"
	}
	d := font.Drawer{Dst: sheet, Src: image.Black, Face: f, Dot: fixed.P(x, y)}
	d.DrawString(text)
}

// paint draws sample i into the cell at p and keeps its aspect ratio.
func (e *imageReader) paint(ctx context.Context, sheet *image.RGBA, p image.Point, d *data.Dataset, i int) {
	var print fingerprint
	e.takeFingerprint(ctx, d, i, &print)
	if print.err != nil || d.Image(ctx, i, &e.im, &e.dec) != nil {
		for k := range cell {
			sheet.Set(p.X+k, p.Y+k, color.RGBA{200, 0, 0, 255})
			sheet.Set(p.X+k, p.Y+cell-1-k, color.RGBA{200, 0, 0, 255})
		}
		return
	}
	im := &e.im
	im.SetChannels(3)
	long := max(im.W, im.H)
	w, h := max(1, im.W*cell/long), max(1, im.H*cell/long)
	e.resizer.Resize(&e.small, im, prepare.Box{X1: float64(im.W), Y1: float64(im.H)}, w, h)
	for y := range h {
		row := e.small.Row(y)
		for x := range w {
			sheet.SetRGBA(p.X+(cell-w)/2+x, p.Y+(cell-h)/2+y, color.RGBA{row[3*x], row[3*x+1], row[3*x+2], 255})
		}
	}
}
