package items

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
)

// KeepLabelled returns t without the rows that lack a label in one of its columns, the numbers of these rows, and
// a remark about them. With strict such rows are an error. A table without rows is always an error.
func KeepLabelled(t *embedding.Table, strict bool) (kept *embedding.Table, rows []int, left []data.LeftOut, err error) {
	if t.Rows() == 0 {
		return nil, nil, nil, errors.New("it has no rows")
	}
	rows = t.UnlabelledRows()
	if len(rows) == 0 {
		return t, nil, nil, nil
	}
	one := data.LeftOut{Reason: "without a label (" + strings.Join(t.ColumnNames(), ", ") + ")", Count: len(rows)}
	for _, i := range rows[:min(len(rows), maxListedRows)] {
		one.First = append(one.First, t.RowName(i))
	}
	switch {
	case strict:
		err = fmt.Errorf("%d rows are %s, such as %s: leave out --strict to skip them", one.Count, one.Reason,
			one.First[0])
	case len(rows) == t.Rows():
		err = fmt.Errorf("no row has a label: %v", one)
	}
	return t.WithoutRows(rows), rows, []data.LeftOut{one}, err
}

// maxListedRows is the number of rows that a remark lists.
const maxListedRows = 5
