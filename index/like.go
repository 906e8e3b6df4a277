package index

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/mappedfile"
)

// mostSpelled is the longest text, in bytes, whose spelling is compared with that of ids.
const mostSpelled = 64

// Like returns up to limit ids that are similar to a text, as suggestions for an id that does not
// exist. It ignores case. First come ids that contain the text, then ids that contain the
// name of its file (the part after the last slash), ids that differ from it in at most a
// third of its letters, and ids in its folder. Among equals, shorter ids come first.
func (x *Index) Like(text string, limit int) ([]string, error) {
	if limit < 1 {
		return nil, inputf("a list of %d ids: want at least 1", limit)
	}
	v, err := x.acquire()
	if err != nil {
		return nil, err
	}
	defer v.release()
	sets, err := v.passing(nil)
	if err != nil {
		return nil, err
	}
	l := newLikes(text, limit)
	err = mappedfile.Access(func() {
		for at, set := range sets {
			set.each(func(row int) bool {
				l.add(v.id(at, row))
				return true
			})
		}
	})
	return l.ids(), err
}

// likes keeps the ids that are most similar to a text.
type likes struct {
	text, name, folder string // in small letters
	letters            int    // most letters that may differ
	limit              int
	kept               []like
}

// like is an id with its distance from the text.
type like struct {
	far int
	id  string
}

// inFolder is the distance of an id that shares only its folder with the text.
const inFolder = mostSpelled

func newLikes(text string, limit int) *likes {
	l := &likes{text: strings.ToLower(strings.TrimSpace(text)), limit: limit}
	cut := strings.LastIndexByte(l.text, '/') + 1
	l.folder, l.name = l.text[:cut], l.text[cut:]
	if len(l.text) <= mostSpelled {
		l.letters = 1 + len(l.text)/3
	}
	return l
}

// add compares an id. It does not keep the id's memory.
func (l *likes) add(id string) {
	if far, ok := l.far(strings.ToLower(id)); ok {
		if l.kept = append(l.kept, like{far, strings.Clone(id)}); len(l.kept) >= 2*l.limit+100 {
			l.cut()
		}
	}
}

func (l *likes) far(id string) (far int, ok bool) {
	switch {
	case l.text == "":
		return 0, false
	case strings.Contains(id, l.text):
		return 0, true
	case l.name != "" && strings.Contains(id, l.name):
		return 1, true
	}
	if max(len(id)-len(l.text), len(l.text)-len(id)) <= l.letters {
		if d := enum.EditDistance(id, l.text); d <= l.letters {
			return 1 + d, true
		}
	}
	return inFolder, l.folder != "" && strings.HasPrefix(id, l.folder)
}

// cut keeps as many ids as are wanted.
func (l *likes) cut() {
	slices.SortFunc(l.kept, func(a, b like) int {
		return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(len(a.id), len(b.id)), cmp.Compare(a.id, b.id))
	})
	l.kept = l.kept[:min(l.limit, len(l.kept))]
}

func (l *likes) ids() []string {
	l.cut()
	out := make([]string, len(l.kept))
	for i, k := range l.kept {
		out[i] = k.id
	}
	return out
}
