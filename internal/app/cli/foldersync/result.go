package foldersync

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/internal/collection/mirror/changes"
)

// Result is the JSON of 'kindred index sync'.
type Result struct {
	Index string `json:"index"`
	Data  string `json:"data"`
	// Items counts the items of the index, after the change if it is applied. Photos counts the photos of
	// the set. Others counts items from other sources.
	Items  int `json:"items"`
	Photos int `json:"photos"`
	Others int `json:"others"`
	// Counts has the number of photos by kind of change: after the change, those of the changes that were made, and
	// as left_out the photos that were to be added or changed and were not.
	Counts   map[string]int `json:"counts"`
	Applied  bool           `json:"applied"`
	ToEmbed  int            `json:"to_embed"`
	Embedded int            `json:"embedded"`
	Changes  []Item         `json:"changes"`
	LeftOut  []data.LeftOut `json:"left_out,omitempty"`
	// Kept lists changed photos that could not be read, so that their items stay.
	Kept []string `json:"kept,omitempty"`

	Notes []error        // about lists in the folder of the index
	done  *mirror.Result // nil before the change
}

// NotDoneKey is the count of photos that were to be added or changed, but could not be read or changed meanwhile.
const NotDoneKey = "left_out"

// Item is one change.
type Item struct {
	Kind       string `json:"kind"`
	ID         string `json:"id"`
	From       string `json:"from,omitempty"` // old name of a photo that was moved
	Relabelled bool   `json:"relabelled,omitempty"`
}

// NewResult returns the result of a comparison before anything is changed.
func NewResult(p *mirror.Plan, x *index.Index, what string) *Result {
	s := &Result{Index: x.Dir(), Data: what, Items: x.Info().Items, Photos: len(p.Want), Others: p.Others,
		ToEmbed: p.Embed, Counts: map[string]int{}, Changes: []Item{}}
	if p.Note != nil {
		s.Notes = append(s.Notes, p.Note)
	}
	for k, n := range p.Counts {
		s.Counts[changes.Kind(k).String()] = n
	}
	for _, c := range p.Changes {
		item := Item{Kind: c.Kind.String(), Relabelled: c.Relabelled}
		switch {
		case c.Kind == changes.Same:
			continue
		case c.To >= 0:
			item.ID = p.Want[c.To].ID
		default:
			item.ID = p.Have[c.From].ID
		}
		if c.Kind == changes.Moved {
			item.From = p.Have[c.From].ID
		}
		s.Changes = append(s.Changes, item)
	}
	return s
}

// kinds returns the words for each kind of change, in the order of printing.
func kinds() []kindWords {
	return []kindWords{{changes.Added, "added"}, {changes.Changed, "changed"}, {changes.Moved, "moved"},
		{changes.Relabelled, "relabelled"}, {changes.Removed, "removed"},
		{changes.Touched, "touched (same content, other time)"}, {changes.Unread, "cannot be opened, left as they are"},
		{changes.Refused, "unreadable, unchanged since: passed over"},
		{changes.Held, "missing, kept by a decision"}, {changes.Same, "unchanged"}}
}

// kindWords is a kind of change, and its words.
type kindWords struct {
	kind  changes.Kind
	words string
}

// Print writes the table: a line for each kind of change, and below it the first few photos.
func (s *Result) Print(a *console.Console, p *mirror.Plan) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s in %s\n", escape.Name(s.Index), enum.Count(s.Items, "item"),
		enum.Count(s.Photos, "photo"), escape.Name(s.Data))
	for _, k := range kinds() {
		n := p.Counts[k.kind]
		if n == 0 {
			continue
		}
		of := slices.DeleteFunc(slices.Clone(s.Changes), func(c Item) bool { return c.Kind != k.kind.String() })
		fmt.Fprintf(&b, "%8d  %s", n, k.words)
		relabelled, kept := 0, 0
		for _, c := range p.Changes {
			if c.Kind == k.kind && c.Relabelled {
				relabelled++
			}
			if c.Kind == k.kind && c.Kind == changes.Refused && c.From >= 0 {
				kept++
			}
		}
		if relabelled > 0 {
			fmt.Fprintf(&b, ", %d of them to another class", relabelled)
		}
		if kept > 0 {
			fmt.Fprintf(&b, ", %d of them with an item of older content", kept)
		}
		b.WriteByte('\n')
		for i, c := range of {
			if i == console.MaxPrinted && len(of) > console.MaxPrinted+1 {
				fmt.Fprintf(&b, "          ... and %d more (--json lists all)\n", len(of)-console.MaxPrinted)
				break
			}
			from := ""
			if c.From != "" && c.From != c.ID {
				from = escape.Name(c.From) + " -> "
			}
			fmt.Fprintf(&b, "          %s%s\n", from, escape.Name(c.ID))
		}
	}
	if s.Others > 0 {
		fmt.Fprintf(&b, "%8d  from other sources, left as they are\n", s.Others)
	}
	if n := len(p.Twice); n > 0 {
		fmt.Fprintf(&b, "%8d  listed twice, the first is used: %s\n", n, escape.Name(p.Twice[0]))
	}
	fmt.Fprintf(&b, "%8d  to embed\n", s.ToEmbed)
	_, err := a.Out.Write([]byte(b.String()))
	return err
}
