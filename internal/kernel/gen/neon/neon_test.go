package neon

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// samples has every instruction with every arrangement that it takes, in registers
// taken at random.
func samples() (words []uint32, texts []string) {
	rnd := rand.New(rand.NewPCG(1, 1))
	v := func() V { return V(rnd.IntN(32)) }
	r := func() R { return R(rnd.IntN(25)) }
	views := []func(V) Operand{V.B16, V.B8, V.H8, V.H4, V.S4, V.S2, V.D2}
	scalars := []func(V) Operand{V.Q, V.D, V.S, V.H, V.B}
	try := func(name string, o ...Operand) {
		if w, err := encode(name, o); err == nil {
			words, texts = append(words, w), append(texts, notation(name, o))
		}
	}
	// Every pairing of arrangements; encode refuses those that the form does not have. What
	// it lets through must be what the assembler makes of it.
	for base := range instructions {
		for _, name := range []string{base, base + "2"} {
			for _, d := range views {
				for _, n := range views {
					try(name, d(v()), n(v()))
					try(name, d(v()), n(v()), Imm(1+rnd.IntN(7)))
					for _, m := range views {
						try(name, d(v()), n(v()), m(v()))
					}
				}
			}
			for i := range 4 {
				try(name, v().S4(), v().S4(), v().SLane(i))
				try(name, v().S2(), v().S2(), v().SLane(i))
				try(name, v().S4(), v().B16(), v().B4Lane(i))
				try(name, v().H8(), v().H8(), (v() & 15).HLane(2*i+1))
				try(name, v().S4(), v().H4(), (v() & 15).HLane(2*i+1))
				try(name, v().S4(), v().H8(), (v() & 15).HLane(2*i))
			}
		}
	}
	for i, s := range []struct {
		name string
		o    []Operand
	}{
		{"saddlv", []Operand{v().S(), v().H8()}}, {"uaddlv", []Operand{v().H(), v().B16()}},
		{"addv", []Operand{v().S(), v().S4()}}, {"smaxv", []Operand{v().S(), v().S4()}},
		{"umaxv", []Operand{v().B(), v().B16()}}, {"sminv", []Operand{v().S(), v().S4()}},
		{"uminv", []Operand{v().H(), v().H8()}}, {"dup", []Operand{v().S4(), v().SLane(3)}},
		{"dup", []Operand{v().H8(), v().HLane(5)}}, {"dup", []Operand{v().S4(), r().W()}},
		{"dup", []Operand{v().D2(), r().X()}}, {"mov", []Operand{v().SLane(2), v().SLane(1)}},
		{"mov", []Operand{v().DLane(1), v().DLane(0)}}, {"mov", []Operand{v().SLane(2), r().W()}},
		{"mov", []Operand{v().DLane(1), r().X()}}, {"umov", []Operand{r().W(), v().BLane(9)}},
		{"umov", []Operand{r().X(), v().DLane(1)}}, {"smov", []Operand{r().X(), v().SLane(3)}},
		{"fmov", []Operand{r().W(), v().S()}}, {"fmov", []Operand{v().S(), r().W()}},
		{"fmov", []Operand{r().X(), v().D()}}, {"fmov", []Operand{v().D(), r().X()}},
		{"fmov", []Operand{v().S(), v().S()}}, {"movi", []Operand{v().B16(), Imm(0xa5)}},
		{"movi", []Operand{v().H8(), Imm(77)}}, {"movi", []Operand{v().S4(), Imm(0)}},
		{"ext", []Operand{v().B16(), v().B16(), v().B16(), Imm(8)}},
		{"tbl", []Operand{v().B16(), v().B16(), v().B16()}}, {"ld1r", []Operand{v().S4(), At(r(), 0)}},
		{"ld1r", []Operand{v().H8(), At(r(), 0)}},
	} {
		if _, err := encode(s.name, s.o); err != nil {
			panic(fmt.Sprint(i, s, err))
		}
		try(s.name, s.o...)
	}
	for _, s := range scalars {
		for _, name := range []string{"ldr", "str", "ldur", "stur"} {
			for _, off := range []int{0, 16, 240, 4000, -16, 7} {
				try(name, s(v()), At(r(), off))
			}
			try(name, s(v()), At(Stack, 32))
			try(name, s(v()), Indexed(r(), r()))
			try(name, s(v()), Post(r(), 16))
			try(name, s(v()), Post(r(), -16))
		}
		for _, name := range []string{"ldp", "stp"} {
			for _, off := range []int{0, 16, 240, -1024, 7} {
				try(name, s(1), s(v()&^1), At(r(), off))
			}
			try(name, s(1), s(v()&^1), Post(r(), 32))
		}
	}
	return words, texts
}

// assemble returns what GNU's assembler makes of instructions.
func assemble(t *testing.T, texts []string) []uint32 {
	t.Helper()
	if _, err := exec.LookPath("aarch64-linux-gnu-as"); err != nil {
		t.Skip("no aarch64-linux-gnu-as (Debian: binutils-aarch64-linux-gnu)")
	}
	dir := t.TempDir()
	src, obj, bin := filepath.Join(dir, "a.s"), filepath.Join(dir, "a.o"), filepath.Join(dir, "a.bin")
	if err := os.WriteFile(src, []byte(".arch armv8.6-a\n"+strings.Join(texts, "\n")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][]string{{"aarch64-linux-gnu-as", "-o", obj, src},
		{"aarch64-linux-gnu-objcopy", "-O", "binary", "-j", ".text", obj, bin}} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", c[0], err, out)
		}
	}
	b, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	var w []uint32
	for ; len(b) >= 4; b = b[4:] {
		w = append(w, uint32(b[0])|uint32(b[1])<<8|uint32(b[2])<<16|uint32(b[3])<<24)
	}
	return w
}

func compare(t *testing.T, words []uint32, texts []string) {
	t.Helper()
	want := assemble(t, texts)
	if len(want) != len(words) {
		t.Fatalf("%d words of %d instructions", len(want), len(words))
	}
	for i, w := range want {
		if words[i] != w {
			t.Errorf("%s is %08x, want %08x", texts[i], words[i], w)
		}
	}
}

func TestEncodings(t *testing.T) {
	words, texts := samples()
	used := map[string]bool{}
	for _, text := range texts {
		name, _, _ := strings.Cut(text, " ")
		used[name] = true
	}
	for name := range instructions {
		if !used[name] {
			t.Errorf("%s is not among the samples", name)
		}
	}
	compare(t, words, texts)
}

// Words that Go's assembler agrees with, for machines without GNU's.
func TestKnownWords(t *testing.T) {
	for _, c := range []struct {
		want uint32
		name string
		o    []Operand
	}{
		{0x4eb084a9, "add", []Operand{V(9).S4(), V(5).S4(), V(16).S4()}},
		{0x4e61cd81, "fmla", []Operand{V(1).D2(), V(12).D2(), V(1).D2()}},
		{0x4eb1b800, "addv", []Operand{V(0).S(), V(0).S4()}},
		{0x0e35cd83, "fmla", []Operand{V(3).S2(), V(12).S2(), V(21).S2()}},
		{0x4e040671, "dup", []Operand{V(17).S4(), V(19).SLane(0)}},
	} {
		if w, err := encode(c.name, c.o); err != nil || w != c.want {
			t.Errorf("%s is %08x (%v), want %08x", notation(c.name, c.o), w, err, c.want)
		}
	}
}

// TestGenerated has the assembler read the comments of all generated files.
func TestGenerated(t *testing.T) {
	files, err := filepath.Glob("../../*/kernels_arm64.s")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^\tWORD\t\$0x([0-9a-f]{8}) // (.*)$`)
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var words []uint32
		var texts []string
		for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
			if m := line.FindStringSubmatch(s.Text()); m != nil {
				var w uint32
				fmt.Sscanf(m[1], "%x", &w)
				words, texts = append(words, w), append(texts, m[2])
			} else if strings.Contains(s.Text(), "WORD") {
				t.Errorf("%s: %q has no notation", name, s.Text())
			}
		}
		t.Run(filepath.Base(filepath.Dir(name)), func(t *testing.T) { compare(t, words, texts) })
	}
}

func TestLayout(t *testing.T) {
	k := New("p").Func("f", "", "n int, x *float32, a, b float32, tap uint8, y *int32", "bool")
	for name, off := range map[string]int{"n": 0, "x": 8, "a": 16, "b": 20, "tap": 24, "y": 32, "ret": 40} {
		if k.args[name].offset != off {
			t.Errorf("%s is at %d, want %d", name, k.args[name].offset, off)
		}
	}
	if k.argBytes != 41 { // as go vet counts
		t.Errorf("%d bytes of parameters", k.argBytes)
	}
}
