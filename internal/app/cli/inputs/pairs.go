package inputs

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
)

// ReadPairs reads a list of pairs and finds their items in a table: by id, else by path,
// else by the name of the file without folders and ending. Rows without names are called
// by their numbers, from 0.
func ReadPairs(file string, t *embedding.Table) ([]eval.Pair, error) {
	f, err := fileinfo.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	named, err := eval.ReadPairs(f, file)
	if err != nil {
		return nil, err
	}
	lookups := rowsByName(t)
	find := func(name string, line int) (int, error) {
		for _, l := range lookups {
			switch row, ok := l.rows[name]; {
			case ok && row < 0:
				return 0, fmt.Errorf("%s:%d: several items have the %s %q", file, line, l.what, name)
			case ok:
				return row, nil
			}
		}
		kinds := cli.Map(lookups, func(l nameRows) string { return l.what })
		return 0, fmt.Errorf("%s:%d: no item is called %q by its %s: embed the item, or remove the line from the "+
			"list", file,
			line, name, strings.Join(kinds, " or "))
	}
	pairs := make([]eval.Pair, len(named))
	for i, n := range named {
		p := eval.Pair{Same: n.Same, Fold: n.Fold}
		if p.A, err = find(n.A, n.Line); err != nil {
			return nil, err
		}
		if p.B, err = find(n.B, n.Line); err != nil {
			return nil, err
		}
		pairs[i] = p
	}
	return pairs, nil
}

// nameRows maps one sort of name to rows; -1 for a name of several rows.
type nameRows struct {
	what string
	rows map[string]int
}

func rowsByName(t *embedding.Table) []nameRows {
	lookup := func(what string, name func(i int) string) nameRows {
		rows := make(map[string]int, t.Rows())
		for i := range t.Rows() {
			if _, twice := rows[name(i)]; twice {
				rows[name(i)] = -1
				continue
			}
			rows[name(i)] = i
		}
		return nameRows{what, rows}
	}
	var out []nameRows
	if t.ID != nil {
		out = append(out, lookup("id", t.ID.At))
	}
	if t.Files != nil {
		if t.Regions != nil {
			out = append(out, lookup("path and region", t.RowName))
		}
		out = append(out, lookup("path", func(i int) string { return t.Files[i] }),
			lookup("file name", func(i int) string {
				base := path.Base(strings.ReplaceAll(t.Files[i], `\`, "/"))
				return strings.TrimSuffix(base, path.Ext(base))
			}))
	}
	if out == nil {
		out = append(out, lookup("row", func(i int) string { return strconv.Itoa(t.Row(i)) }))
	}
	return out
}
