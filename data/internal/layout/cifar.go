package layout

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// A CIFAR-100 record: coarse label, fine label, then 32 x 32 red, green and blue
// values, each channel by rows.
const (
	cifarSide   = 32
	cifarPlane  = cifarSide * cifarSide
	cifarRecord = 2 + 3*cifarPlane
)

// readCIFAR100 reads the binary version of CIFAR-100, whose train.bin and test.bin have both
// levels of labels. The coarse label is the training label. Names are read from
// fine_label_names.txt and coarse_label_names.txt if they exist.
func readCIFAR100(_ context.Context, s *Set) error {
	s.Pixels = &pixels{w: cifarSide, h: cifarSide, c: 3}
	columns := []Column{{Name: "coarse"}, {Name: "fine"}}
	for i, half := range s.marks {
		b, err := s.tree.Read(half, nil)
		if err != nil {
			return err
		}
		file := s.path(half)
		if len(b) == 0 || len(b)%cifarRecord != 0 {
			return fmt.Errorf("%s: %d bytes are not a whole number of records of %d: truncated, or not "+
				"CIFAR-100's binary version", file, len(b), cifarRecord)
		}
		if err := budget.Check(file, 2*int64(len(b))); err != nil { // the file, and a copy with interleaved pixels
			return err
		}
		n := len(b) / cifarRecord
		pix := make([]uint8, 0, n*3*cifarPlane)
		for k := range n {
			r := b[k*cifarRecord : (k+1)*cifarRecord]
			if r[0] >= 20 || r[1] >= 100 {
				return fmt.Errorf("%s: record %d has coarse label %d and fine label %d; CIFAR-100 has 20 and "+
					"100 classes", file, k, r[0], r[1])
			}
			red, green, blue := r[2:2+cifarPlane], r[2+cifarPlane:2+2*cifarPlane], r[2+2*cifarPlane:]
			for p := range red {
				pix = append(pix, red[p], green[p], blue[p])
			}
			for c := range columns {
				columns[c].Numbers = append(columns[c].Numbers, int64(r[c]))
			}
			s.addNumbered(i, k)
		}
		s.Pixels.add(pix)
	}
	for i := range columns {
		if file := columns[i].Name + "_label_names.txt"; s.tree.Has(file) {
			names, err := readLines(s.tree, file)
			if err != nil {
				return err
			}
			columns[i].Names = numberNames(0, names)
		}
	}
	s.Columns = columns
	s.Coarse, s.Fine, s.Train = "coarse", "fine", "coarse"
	return nil
}
