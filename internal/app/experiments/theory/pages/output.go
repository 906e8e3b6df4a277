package pages

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/page/figure"
	"github.com/kindred-ml/kindred/internal/page/report"
)

// Progress is called as work is done: total pieces in all, done of them
// finished. It may be called by several goroutines.
type Progress func(stage string, done, total int)

// Output is what a command wrote.
type Output struct {
	Dir     string   `json:"dir"`
	Files   []string `json:"files"`
	Seed    uint64   `json:"seed"`
	Seconds float64  `json:"seconds"`
}

// folder writes the files of one command, keeping their names.
type folder struct {
	dir   string
	files []string
}

func newFolder(dir string) (*folder, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	return &folder{dir: dir}, nil
}

func (f *folder) path(name string) string {
	f.files = append(f.files, name)
	return filepath.Join(f.dir, name)
}

// figure writes a figure as SVG and PNG.
func (f *folder) figure(name string, fig figure.Figure) error {
	for _, ext := range []string{".svg", ".png"} {
		if err := figure.WriteFigure(f.path(name+ext), fig); err != nil {
			return err
		}
	}
	return nil
}

// table writes rows as CSV; numbers in full precision.
func (f *folder) table(name string, header []string, rows [][]any) error {
	return atomic.WriteFile(f.path(name+".csv"), func(w io.Writer) error {
		c := csv.NewWriter(w)
		if err := c.Write(header); err != nil {
			return err
		}
		for _, row := range rows {
			out := make([]string, len(row))
			for i, v := range row {
				switch v := v.(type) {
				case float64:
					out[i] = strconv.FormatFloat(v, 'g', -1, 64)
				default:
					out[i] = fmt.Sprint(v)
				}
			}
			if err := c.Write(out); err != nil {
				return err
			}
		}
		c.Flush()
		return c.Error()
	})
}

func (f *folder) page(p report.Page) error { return p.WriteFile(f.path("index.html")) }

func figureBlock(caption string, f ...report.Captioned) report.Figures {
	return report.Figures{Items: f, Caption: caption}
}

func oneFigure(f figure.Figure, caption string) report.Figures {
	return figureBlock("", report.Captioned{Figure: f, Caption: caption})
}

// stageError returns ctx.Err() with what was under way.
func stageError(ctx context.Context, stage string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", stage, err)
	}
	return nil
}
