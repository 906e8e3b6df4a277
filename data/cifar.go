package data

import (
	"context"
	"fmt"
	"path"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// A CIFAR-100 record: coarse label, fine label, then 32 x 32 red, green and blue
// values, each channel by rows.
const (
	cifarSide   = 32
	cifarPlane  = cifarSide * cifarSide
	cifarRecord = 2 + 3*cifarPlane
)

func isCIFAR100(_ context.Context, t tree) bool { return t.has("train.bin") && t.has("test.bin") }

// openCIFAR100 reads the binary version of CIFAR-100, whose train.bin and test.bin have both
// levels of labels. The coarse label is the training label. Names are read from
// fine_label_names.txt and coarse_label_names.txt if they exist.
func openCIFAR100(_ context.Context, t tree, name string, _ OpenOptions) (*Dataset, error) {
	source := &pixels{w: cifarSide, h: cifarSide, c: 3}
	d := &Dataset{Name: name, Layout: "cifar100", Source: source}
	var coarse, fine []int64
	for i, half := range []string{"train.bin", "test.bin"} {
		b, err := t.read(half, nil)
		if err != nil {
			return nil, err
		}
		file := path.Join(t.location(), half)
		if len(b) == 0 || len(b)%cifarRecord != 0 {
			return nil, fmt.Errorf("%s: %d bytes are not a whole number of records of %d: truncated, or not "+
				"CIFAR-100's binary version", file, len(b), cifarRecord)
		}
		if err := budget.Check(file, 2*int64(len(b))); err != nil { // the file, and a copy with interleaved pixels
			return nil, err
		}
		n := len(b) / cifarRecord
		pix := make([]uint8, 0, n*3*cifarPlane)
		for k := range n {
			r := b[k*cifarRecord : (k+1)*cifarRecord]
			if r[0] >= 20 || r[1] >= 100 {
				return nil, fmt.Errorf("%s: record %d has coarse label %d and fine label %d; CIFAR-100 has 20 and "+
					"100 classes", file, k, r[0], r[1])
			}
			coarse, fine = append(coarse, int64(r[0])), append(fine, int64(r[1]))
			red, green, blue := r[2:2+cifarPlane], r[2+cifarPlane:2+2*cifarPlane], r[2+2*cifarPlane:]
			for p := range red {
				pix = append(pix, red[p], green[p], blue[p])
			}
			role := []Split{Train, Test}[i]
			d.Splits = append(d.Splits, role)
			d.Names = append(d.Names, fmt.Sprintf("%s/%d", role, k))
		}
		source.add(pix)
	}
	d.Columns = []Column{newNumberColumn("coarse", coarse), newNumberColumn("fine", fine)}
	for i, file := range []string{"coarse_label_names.txt", "fine_label_names.txt"} {
		if !t.has(file) {
			continue
		}
		text, err := readText(t, file)
		if err != nil {
			return nil, err
		}
		var names []string
		for _, line := range textLines(text) {
			names = append(names, line)
		}
		d.Columns[i].useNames(names)
	}
	d.Coarse, d.Fine, d.Train = "coarse", "fine", "coarse"
	return d.setDisjoint().mustBeConsistent(), nil
}
