package data

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/lists"
)

// Fingerprint identifies the content of a data set, so that results of other data are not taken for results of these.
// It does not cover the pixels of images.
type Fingerprint struct {
	Samples int `json:"samples"`
	// Names covers the names of the samples and their boxes, Labels all columns of labels, Split the roles of the
	// samples, and Features the rows of ready features, bit by bit. A text is "" if the set has none.
	Names    string `json:"names"`
	Labels   string `json:"labels,omitempty"`
	Split    string `json:"split,omitempty"`
	Features string `json:"features,omitempty"`
}

// Fingerprint returns the fingerprint of a set.
func (d *Dataset) Fingerprint() Fingerprint {
	f := Fingerprint{Samples: d.Len()}
	f.Names = hexDigest(func(h hash.Hash) {
		for i, name := range d.Names {
			fmt.Fprintf(h, "%q", name)
			if d.Boxes != nil {
				fmt.Fprint(h, d.Boxes[i])
			}
		}
	})
	if d.Columns != nil {
		f.Labels = hexDigest(func(h hash.Hash) {
			for _, c := range d.Columns {
				fmt.Fprintf(h, "%q%q", c.Name, c.Classes)
				hashInts(h, c.IDs...)
			}
			if d.MultiLabel != nil {
				fmt.Fprintf(h, "%q", d.MultiLabel.Classes)
				for _, ids := range d.MultiLabel.Sets {
					hashInts(h, append(ids[:len(ids):len(ids)], -1)...)
				}
			}
		})
	}
	if d.Splits != nil {
		f.Split = hexDigest(func(h hash.Hash) {
			for _, s := range d.Splits {
				hashInts(h, int64(s))
			}
		})
	}
	if d.Features != nil {
		f.Features = d.FeaturesDigest(lists.Indices(d.Features.Rows))
	}
	return f
}

// FeaturesDigest returns a digest of some rows of ready features; "" for a set without features.
func (d *Dataset) FeaturesDigest(rows []int) string {
	if d.Features == nil {
		return ""
	}
	return hexDigest(func(h hash.Hash) {
		var b []byte
		for _, i := range rows {
			b = b[:0]
			for _, v := range d.Features.Row(i) {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
			}
			h.Write(b)
		}
	})
}

func hexDigest(write func(h hash.Hash)) string {
	h := sha256.New()
	write(h)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func hashInts(h hash.Hash, numbers ...int64) {
	var b [8]byte
	for _, n := range numbers {
		binary.LittleEndian.PutUint64(b[:], uint64(n))
		h.Write(b[:])
	}
}

// DescribeChange describes how a set differs from the one that it was; "" if it does not.
func (f Fingerprint) DescribeChange(was Fingerprint) string {
	if f.Samples != was.Samples {
		return fmt.Sprintf("there are %d samples and there were %d", f.Samples, was.Samples)
	}
	var what []string
	for _, part := range []struct{ name, now, was string }{
		{"the names of the samples", f.Names, was.Names}, {"the labels", f.Labels, was.Labels},
		{"the split", f.Split, was.Split}, {"the features", f.Features, was.Features},
	} {
		if part.now != part.was {
			what = append(what, part.name)
		}
	}
	if what == nil {
		return ""
	}
	return strings.Join(what, " and ") + " changed"
}
