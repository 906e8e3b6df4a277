package plaintext

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestRows(t *testing.T) {
	field := strings.Repeat("f", MaxField)
	wide := strings.Repeat(",", maxFields-1)
	many := strings.Repeat("a,b\n", 3*maxRow/4) // no bound on all rows together
	for name, c := range map[string]struct {
		text, want string
		rows       int
	}{
		"nothing":       {"", "", 0},
		"longest field": {"a,b\n" + field + ",2\n3,4", "", 3},
		"longer field":  {"a,b\nc,d\n1," + field + "f\n3,4", "line 3: field 2 has 65537 bytes", 2},
		"many rows":     {many, "", 3 * maxRow / 4},
		"widest row":    {wide + "\n" + wide + "\n", "", 2},
		"wider row": {"a\n" + strings.Repeat(",", 2*maxFields),
			"after line 1: a row of more than 4 MiB or 131072 fields", 1},
		"quote left open":      {"a,b\n\"" + many, "after line 1: a row of more than 4 MiB", 1},
		"no line end":          {strings.Repeat("x", 2*maxRow), "after line 0: a row of more than 4 MiB", 0},
		"a quote in the midst": {"a,b\n\"x\"y,1\n", "extraneous or missing", 1},
	} {
		for how, r := range map[string]io.Reader{"": strings.NewReader(c.text),
			"in halves": iotest.HalfReader(strings.NewReader(c.text))} {
			rows := NewRows(r)
			rows.FieldsPerRecord = -1
			n := 0
			var err error
			for ; err == nil; n++ {
				_, err = rows.Read()
			}
			n--
			if n != c.rows || (c.want == "") != errors.Is(err, io.EOF) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s %s: %d rows, then %.200v; want %d, then %q", name, how, n, err, c.rows, c.want)
			}
		}
	}
}

// A row that is refused is not in memory first.
func TestRowsBound(t *testing.T) {
	endless := &zeros{}
	if _, err := NewRows(endless).Read(); err == nil || endless.read > 2*maxRow {
		t.Errorf("%d bytes read: %v", endless.read, err)
	}
}

// zeros gives zeros without end.
type zeros struct{ read int }

func (z *zeros) Read(p []byte) (int, error) {
	clear(p)
	z.read += len(p)
	return len(p), nil
}
