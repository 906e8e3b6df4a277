package run

import (
	"errors"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// A table of commas has numbers of eight bytes for each: it may not need more memory than the limit.
func TestTableWithinMemory(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 20))
	head, row := "a,b,c,d\n", ",,,\n"
	got, err := parseTable(strings.NewReader(head + strings.Repeat(row, 1000)))
	if err != nil || len(got.Values["d"]) != 1000 {
		t.Fatalf("1000 rows: %v", err)
	}
	var over *budget.Error
	if _, err := parseTable(strings.NewReader(head + strings.Repeat(row, 10_000))); !errors.As(err, &over) {
		t.Errorf("10,000 rows: %v", err)
	}
}
