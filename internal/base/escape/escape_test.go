package escape

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestEachPlace(t *testing.T) {
	for _, c := range []struct{ in, html, markdown, name, text string }{
		{"cat", "cat", "cat", "cat", "cat"},
		{"", "", "", "", ""},
		{"<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;", "&lt;script&gt;alert(1)&lt;/script&gt;",
			"<script>alert(1)</script>", "<script>alert(1)</script>"},
		{"a|b & \"c\"", "a|b &amp; &#34;c&#34;", `a\|b &amp; &#34;c&#34;`, `a|b & "c"`, `a|b & "c"`},
		{"a\nb\tc", "a\nb\tc", "a b c", `a\nb\tc`, "a\nb\tc"},
		{"a\r", "a\ufffd", "a\ufffd", `a\r`, `a\r`},
		{"\x1b[31mred", "\ufffd[31mred", "\ufffd\\[31mred", `\x1b[31mred`, `\x1b[31mred`},
		{"\u009b31m", "\ufffd31m", "\ufffd31m", `\u009b31m`, `\u009b31m`},
		{"abc\u202egpj.exe", "abc\ufffdgpj.exe", "abc\ufffdgpj.exe", `abc\u202egpj.exe`, `abc\u202egpj.exe`},
		{"\u2066x\u2069", "\ufffdx\ufffd", "\ufffdx\ufffd", `\u2066x\u2069`, `\u2066x\u2069`},
		{"bad \xff\xc3", "bad \ufffd", "bad \ufffd", `bad \xff\xc3`, `bad \xff\xc3`},
		{"\ufffd é 猫", "\ufffd é 猫", "\ufffd é 猫", "\ufffd é 猫", "\ufffd é 猫"},
		{"[x](javascript:1) `c` \\", "[x](javascript:1) `c` \\", "\\[x\\](javascript:1) \\`c\\` \\\\",
			"[x](javascript:1) `c` \\", "[x](javascript:1) `c` \\"},
		{"line\u2028two\x7f\x00", "line\ufffdtwo\ufffd\ufffd", "line\ufffdtwo\ufffd\ufffd", `line\u2028two\x7f\x00`,
			`line\u2028two\x7f\x00`},
	} {
		for _, p := range []struct{ what, got, want string }{
			{"HTML", HTML(c.in), c.html}, {"Markdown", Markdown(c.in), c.markdown},
			{"Name", Name(c.in), c.name}, {"Text", Text(c.in), c.text},
		} {
			if p.got != p.want {
				t.Errorf("%s(%q) = %q, want %q", p.what, c.in, p.got, p.want)
			}
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestWriter(t *testing.T) {
	var b strings.Builder
	n, err := fmt.Fprintf(Writer(&b), "%s\n", "a\x1bb")
	if b.String() != `a\x1bb`+"\n" || n != 4 || err != nil {
		t.Errorf("%q, %d, %v", b.String(), n, err)
	}
	if _, err := fmt.Fprint(Writer(full{}), "x"); err == nil {
		t.Error("no error of a full disk")
	}
}

// TestLaTeX: every character with a meaning in LaTeX is text.
func TestLaTeX(t *testing.T) {
	got := LaTeX("a_b & 50% of $x^2$ #1 {~} \\end \u22121.0 ± 0.2 <é>\n")
	want := `a\_b \& 50\% of \$x\textasciicircum{}2\$ \#1 \{\textasciitilde{}\} \textbackslash{}end $-$1.0 $\pm$ 0.2 ` +
		`$<$é$>$\textbackslash{}n`
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
