package report_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kindred-ml/kindred/internal/page/figure"
	"github.com/kindred-ml/kindred/internal/page/report"
)

// A figure of two panels and a page with a table.
func Example() {
	dir, err := os.MkdirTemp("", "report")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	xs, ys, class, names := []float64{0, 1}, []float64{1, 0}, []int{0, 1}, []string{"even", "odd"}
	r1 := []float64{64.1, 65.2, 66}

	fig := figure.Scatter{
		Axes: figure.Axes{Title: "EPS", Equal: true, Bare: true},
		X:    xs, Y: ys, Class: class, Names: names, Label: true,
	}
	page := report.Page{
		Title: "Even or odd",
		Sections: []report.Section{{
			Title: "Recall",
			Blocks: []report.Block{
				report.Table{
					Columns: []report.Column{{Name: "method"}, {Name: "R@1", Best: report.Highest}},
					Rows:    []report.Row{{Cells: []report.Cell{report.TextCell("EPS"), report.SampleCell(r1, 1)}}},
				},
				report.Figures{Items: []report.Captioned{{Figure: fig, Caption: "Test digits."}}},
			},
		}},
	}
	err = errors.Join(
		figure.WriteFigure(filepath.Join(dir, "eps.svg"), figure.PanelRow(fig, fig)), // or .png
		page.WriteFile(filepath.Join(dir, "report.html")),
	)
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	fmt.Println(len(files), err)
	// Output: 2 <nil>
}
