package data

import (
	"strings"
	"testing"
)

// A manifest's column split follows the same rules.
func TestSplitColumn(t *testing.T) {
	for _, c := range []struct{ rows, want, note string }{
		{"a,x,train b,x,val", "a x train|b x test", noteValidation},
		{"a,x,train b,x,Validation c,x,test", "a x train|b x none|c x test", ""},
		{"a,x,train b,y,train", "a x|b y", ""},
		{"a,x,query b,x,gallery", "a x query|b x gallery", ""},
	} {
		text := "path,label,split\n" + strings.ReplaceAll(c.rows, " ", "\n")
		d := open(t, layoutFiles{"manifest.csv": []byte(text)}.folder(t))
		if got := strings.ReplaceAll(summary(t, d), "\n", "|"); got != c.want || strings.Join(d.Notes, "") != c.note {
			t.Errorf("%s: %s %q", c.rows, got, d.Notes)
		}
	}
}
