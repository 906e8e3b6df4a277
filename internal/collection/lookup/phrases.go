package lookup

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/run"
)

// Term is a photo or words.
type Term struct {
	Photo, Words string
	Minus        bool
}

// Phrase is what is looked up at once: one term, or the sum of several.
type Phrase []Term

// IsWords reports whether an argument is words and not a file or a folder: nothing has this name, it has no path
// separator, and it does not end like a photo's name.
func IsWords(arg string) bool {
	if _, isPicture := imaging.FormatByName(arg); isPicture || strings.ContainsAny(arg, `/`+string(filepath.Separator)) {
		return false
	}
	_, err := os.Lstat(arg)
	return err != nil
}

// ParsePhrases reads arguments, each a photo, words, or + or - between two. texts are words, whatever they look like.
func ParsePhrases(args, texts []string) ([]Phrase, error) {
	var all []Phrase
	for i := 0; i < len(args); i++ {
		sign := args[i]
		joins := sign == "+" || sign == "-"
		if joins {
			if i++; len(all) == 0 || i == len(args) || args[i] == "+" || args[i] == "-" {
				return nil, fmt.Errorf("%s stands between two photos or words, as in: photo.jpg %s \"with laces\"",
					sign, sign)
			}
		}
		t := Term{Photo: args[i], Minus: sign == "-"}
		if IsWords(args[i]) {
			t.Photo, t.Words = "", args[i]
		}
		if t.Photo == "" && strings.TrimSpace(t.Words) == "" {
			return nil, fmt.Errorf("an argument is empty: want a photo or words")
		}
		if joins {
			all[len(all)-1] = append(all[len(all)-1], t)
		} else {
			all = append(all, Phrase{t})
		}
	}
	for _, text := range texts {
		if strings.TrimSpace(text) == "" {
			return nil, fmt.Errorf("a text is empty: want words")
		}
		all = append(all, Phrase{{Words: text}})
	}
	return all, nil
}

// IsPhoto reports whether the phrase is a photo alone, or a folder of photos.
func (p Phrase) IsPhoto() bool { return len(p) == 1 && p[0].Photo != "" }

func (p Phrase) String() string {
	var b strings.Builder
	for i, t := range p {
		switch {
		case t.Minus:
			b.WriteString(" - ")
		case i > 0:
			b.WriteString(" + ")
		}
		b.WriteString(t.Photo + t.Words)
	}
	return b.String()
}

// Summand is a query that is added to others, or subtracted.
type Summand struct {
	Query
	Minus bool
}

// SumQueries returns the query for the sum of the terms' vectors, each of unit length, and itself of unit
// length. Items that are one of the added terms are the query itself.
func SumQueries(name string, terms []Summand) (*Query, error) {
	q := &Query{Name: name, Summed: true, From: "words, embedded by the text tower"}
	if len(terms) > 1 {
		q.From = "the sum of vectors of unit length, itself of unit length"
	}
	var sum []float64
	for _, t := range terms {
		length := 0.0
		for _, x := range t.Vector {
			length += float64(x) * float64(x)
		}
		if length = math.Sqrt(length); !(length > 0) || math.IsInf(length, 0) {
			return nil, fmt.Errorf("%s has no direction: its embedding has the length %v", t.Name, length)
		}
		if sum == nil {
			sum = make([]float64, len(t.Vector))
		}
		if len(t.Vector) != len(sum) {
			return nil, fmt.Errorf("%s has %d numbers, and %s has %d: both must be of one network", t.Name,
				len(t.Vector), terms[0].Name, len(sum))
		}
		if t.Minus {
			length = -length
		} else if !t.Summed {
			q.Terms = append(q.Terms, t.Query)
		}
		for i, x := range t.Vector {
			sum[i] += float64(x) / length
		}
	}
	length := 0.0
	for _, x := range sum {
		length += x * x
	}
	// What rounding leaves of a difference of equal vectors is no direction.
	if length = math.Sqrt(length); length < 1e-6 {
		return nil, fmt.Errorf("%s: the sum is zero, which is near to nothing", name)
	}
	q.Vector = make([]float32, len(sum))
	for i, x := range sum {
		q.Vector[i] = float32(x / length)
	}
	return q, nil
}

// CanSum reports whether a network and a distance compare vectors of unit length with the items of a gallery as they
// should be.
func CanSum(m *run.Model, by eval.Distance) bool {
	return by == eval.Cosine || m != nil && IsUnitLength(m.Net.Spec())
}

// IsUnitLength reports whether a network's embeddings have unit length, so that all distances rank them alike.
func IsUnitLength(s *nn.Spec) bool {
	return len(s.Layers) > 0 && s.Layers[len(s.Layers)-1].Kind == nn.L2Normalize
}
