package lookup

import (
	"context"
	"fmt"
	"slices"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/collection/provenance"
	"github.com/kindred-ml/kindred/internal/network/textencoder"
	"github.com/kindred-ml/kindred/matrix"
)

// EmbedPhotos embeds photos to look up: those at the given paths, or those of a data set. The caller closes
// the Set. Without Spec.Strict, unreadable photos are left out with a remark.
func (s *Source) EmbedPhotos(ctx context.Context, paths []string, set string) (*Set, []Query, error) {
	m, err := s.model()
	if err != nil {
		return nil, nil, err
	}
	m.Config.Data.Strict = s.Strict
	out := &Set{}
	if set != "" {
		out.Data, out.Root, err = s.host.OpenPhotos(ctx, set, m, s.Strict)
	} else {
		out.Data, err = data.OpenFiles(ctx, paths)
	}
	if err != nil {
		return nil, nil, err
	}
	if err := s.embed(ctx, m, out); err != nil {
		return nil, nil, err
	}
	s.noteLeftOut(out.LeftOut)
	return out, out.Queries("the photo, embedded by " + s.networkText()), nil
}

// networkText names the network of the gallery.
func (s *Source) networkText() string {
	if n := s.Calibration.Source; n.Fingerprint != "" || n.Name != "" {
		return n.String()
	}
	return "a network that is not known"
}

// ReadVectors returns a query for each row of the file of Spec.Vector. The Set has their embeddings.
func (s *Source) ReadVectors() (*Set, []Query, error) {
	t, err := s.host.ReadTable(s.Vector)
	if err != nil {
		return nil, nil, err
	}
	set := &Set{Table: t}
	if s.Items == nil {
		if t.X == nil {
			return nil, nil, t.NoEmbeddingsError()
		}
		return set, set.Queries("a row of " + s.Vector), nil
	}
	list, err := QueriesByVector(t, s.Vector, s.Calibration.Dim) // items of an index are not compared with photos
	return set, list, err
}

// CheckVectors returns an error if the embeddings of Spec.Vector are of another network than those of a gallery.
func (s *Source) CheckVectors(t *embedding.Table, all provenance.EmbeddingSource) error {
	return provenance.CheckSameNetwork(provenance.SourceOfTable(t, s.Vector), all, s.ForceNetwork, s.host.Notes())
}

// WordsError is the error of a query that is taken for words, although words cannot be looked up.
type WordsError struct {
	Words string
	Err   error
}

func (e *WordsError) Error() string { return e.Named(func(setting string) string { return setting }) }

// Named is Error with other names for settings.
func (e *WordsError) Named(name func(setting string) string) string {
	return fmt.Sprintf("%q is not a file, so it is looked up as words: %s", e.Words, option.Text(e.Err, name))
}

// Unwrap returns the reason.
func (e *WordsError) Unwrap() error { return e.Err }

// EmbedSums returns the queries of phrases that are words or sums. Photos alone are left out.
func (s *Source) EmbedSums(ctx context.Context, all []Phrase) (list []Query, err error) {
	sums := slices.DeleteFunc(slices.Clone(all), Phrase.IsPhoto)
	if len(sums) == 0 {
		return nil, nil
	}
	m, err := s.Model()
	if err != nil {
		return nil, err
	}
	by, err := s.Metric(ctx)
	if err != nil {
		return nil, err
	}
	spoken, embedded := ListWords(sums), (*matrix.Dense)(nil)
	var tower *textencoder.Tower
	if spoken != nil {
		if tower, err = s.OpenTower(); err != nil {
			return nil, &WordsError{spoken[0], err}
		}
	}
	if !CanSum(m, by) {
		return nil, &option.InvalidError{Setting: "distance", Value: by.String(), Want: "cosine for words and sums; " +
			"an index has that of kindred index create"}
	}
	if tower != nil {
		if embedded, err = tower.Embed(ctx, spoken); err != nil {
			return nil, err
		}
		for _, note := range tower.TruncationNotes(spoken) {
			fmt.Fprintln(s.host.Notes(), "kindred: "+escape.Text(note))
		}
	}
	photos := map[string]*Query{}
	for _, p := range sums {
		terms := make([]Summand, len(p))
		for i, t := range p {
			terms[i] = Summand{Query: Query{Name: t.Photo + t.Words, Summed: t.Words != ""}, Minus: t.Minus}
			if t.Words != "" {
				terms[i].Vector = embedded.Row(slices.Index(spoken, t.Words))
				continue
			}
			if photos[t.Photo] == nil {
				if photos[t.Photo], err = s.embedPhoto(ctx, t.Photo); err != nil {
					return nil, err
				}
			}
			terms[i].Query = *photos[t.Photo]
		}
		q, err := SumQueries(p.String(), terms)
		if err != nil {
			return nil, err
		}
		q.From += ", of " + s.networkText()
		list = append(list, *q)
	}
	return list, nil
}

// embedPhoto embeds a photo of a sum.
func (s *Source) embedPhoto(ctx context.Context, path string) (*Query, error) {
	strict := *s
	spec := *s.Spec
	spec.Strict = true
	strict.Spec = &spec
	set, list, err := strict.EmbedPhotos(ctx, []string{path}, "")
	if err != nil {
		return nil, err
	}
	defer set.Close()
	if len(list) != 1 {
		return nil, fmt.Errorf("%s has %d photos: + and - join single photos", path, len(list))
	}
	return &list[0], nil
}

// ListWords lists the words of phrases, each once.
func ListWords(phrases []Phrase) (all []string) {
	for _, p := range phrases {
		for _, t := range p {
			if t.Words != "" && !slices.Contains(all, t.Words) {
				all = append(all, t.Words)
			}
		}
	}
	return all
}

// SinglePhotos lists the phrases that are photos alone, or folders of photos.
func SinglePhotos(phrases []Phrase) (paths []string) {
	for _, p := range phrases {
		if p.IsPhoto() {
			paths = append(paths, p[0].Photo)
		}
	}
	return paths
}
