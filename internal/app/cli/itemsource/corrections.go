package itemsource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/internal/page/review"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// Correction is what decisions change about one item.
type Correction struct {
	review.Item
	To   string // new label; "" if the item is dropped
	Drop bool
}

// NewCorrections returns what the decisions on a page change, in the order of the page's items. Later decisions replace
// earlier ones, a drop is final, and decisions that leave a label as it is are left out: as the manifest of the page.
func NewCorrections(page *review.Saved, d *api.Decisions) ([]Correction, error) {
	items, cards, err := page.Contents()
	if err != nil {
		return nil, err
	}
	type decided struct {
		card int
		api.Decision
	}
	var order []decided
	for name, of := range d.Done {
		card, err := strconv.Atoi(name)
		if err != nil || card < 0 || card >= len(cards) {
			return nil, fmt.Errorf("a decision on card %q of %d", name, len(cards))
		}
		order = append(order, decided{card, of})
	}
	slices.SortFunc(order, func(a, b decided) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.card, b.card))
	})
	to, drop := map[int]string{}, map[int]bool{}
	for _, of := range order {
		for _, i := range cards[of.card] {
			drop[i] = drop[i] || of.Action == "drop"
			if of.Label != "" {
				to[i] = of.Label
			}
		}
	}
	var out []Correction
	for i, it := range items {
		switch {
		case drop[i]:
			out = append(out, Correction{Item: it, Drop: true})
		case to[i] != "" && to[i] != it.Label:
			out = append(out, Correction{Item: it, To: to[i]})
		}
	}
	return out, nil
}

// Move is a file that a script moves.
type Move struct{ From, To string }

// PlanMoves returns the moves of files that make the folders of classes agree with the corrections. PLACE/CLASS/FILE
// becomes PLACE/LABEL/FILE, or PLACE.dropped/CLASS/FILE of a dropped item. A file gets another name where one of that
// name is. The error names an item whose folder is not its class, or a label that cannot be a folder's name.
func PlanMoves(of []Correction) ([]Move, error) {
	taken := map[string]bool{}
	var out []Move
	for _, c := range of {
		file := c.Path
		folder := filepath.Dir(file)
		st, err := os.Stat(file)
		switch {
		case err != nil:
			return nil, err
		case !st.Mode().IsRegular():
			return nil, fmt.Errorf("%s is not a regular file", file)
		case filepath.Base(folder) != c.Label:
			return nil, fmt.Errorf("%s is labelled %q, which is not the name of its folder: its label is changed in a "+
				"manifest", file, c.Label)
		}
		place := filepath.Dir(folder)
		to := filepath.Join(place, c.To)
		if c.Drop {
			to = filepath.Join(place+".dropped", c.Label)
		} else if c.To == "." || c.To == ".." || strings.ContainsAny(c.To, "/\\\x00") {
			return nil, fmt.Errorf("the label %q cannot be the name of a folder", c.To)
		}
		target, err := freePath(to, filepath.Base(file), taken)
		if err != nil {
			return nil, err
		}
		out = append(out, Move{file, target})
	}
	return out, nil
}

// freePath returns a path in a folder that no file has and no move takes: with the name, else with a number added.
func freePath(folder, name string, taken map[string]bool) (string, error) {
	ext := path.Ext(name)
	for k := 1; ; k++ {
		at := filepath.Join(folder, name)
		if k > 1 {
			at = filepath.Join(folder, fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), k, ext))
		}
		_, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !taken[at]:
			taken[at] = true
			return at, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return "", err
		}
	}
}

// WriteScript writes the moves as a script for sh. It stops at the first error and overwrites nothing.
func WriteScript(w io.Writer, moves []Move) error {
	var b strings.Builder
	b.WriteString("#!/bin/sh\n# Moves photos as a review decided. Read it, then run it with sh.\nset -e\n")
	made := map[string]bool{}
	for _, m := range moves {
		if folder := filepath.Dir(m.To); !made[folder] {
			made[folder] = true
			b.WriteString(escape.Command("mkdir", "-p", "--", folder) + "\n")
		}
		fmt.Fprintf(&b, "[ ! -e %s ] && %s\n", escape.Command(m.To), escape.Command("mv", "--", m.From, m.To))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Applied counts the items of an index that corrections changed.
type Applied struct {
	Relabelled int `json:"relabelled"`
	Removed    int `json:"removed"`
	// Missing lists items that the index does not have, Changed those whose label is not the one that was reviewed:
	// both stay as they are.
	Missing []string `json:"missing,omitempty"`
	Changed []string `json:"changed,omitempty"`
}

// Apply makes the corrections in an index, in one change. prefix begins the ids of the items. With dry it changes
// nothing and returns what it would do.
func Apply(ctx context.Context, x *index.Index, of []Correction, prefix string, dry bool) (*Applied, error) {
	var change index.Change
	a := &Applied{}
	for _, c := range of {
		id := prefix + c.Name
		old, ok, err := x.Get(id)
		switch {
		case err != nil:
			return nil, err
		case !ok:
			a.Missing = append(a.Missing, id)
			continue
		case store.FormatValue(old.Columns["label"]) != c.Label:
			a.Changed = append(a.Changed, id)
			continue
		case c.Drop:
			change.Remove = append(change.Remove, id)
			continue
		}
		it := old
		it.Columns = map[string]any{}
		for name, v := range old.Columns {
			it.Columns[name] = v
		}
		it.Columns["label"] = c.To
		if err := store.ConvertClasses(&it, x.Info().Columns); err != nil {
			return nil, err
		}
		mirror.CopyFileRecord(&old, &it)
		change.Put = append(change.Put, it)
	}
	a.Relabelled, a.Removed = len(change.Put), len(change.Remove)
	if dry || a.Relabelled+a.Removed == 0 {
		return a, nil
	}
	_, _, err := x.Change(ctx, change)
	return a, err
}
