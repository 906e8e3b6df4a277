package prepare

import (
	"encoding"
	"encoding/json"
	"strings"
	"testing"
)

// Every enumeration reads back the text that it writes, and refuses others.
func TestTexts(t *testing.T) {
	type text interface {
		encoding.TextMarshaler
		encoding.TextUnmarshaler
	}
	for name, c := range map[string]struct {
		v     text
		known []string
	}{
		"Fit":     {new(Fit), []string{"stretch", "cover"}},
		"Filter":  {new(Filter), []string{"bilinear", "bicubic"}},
		"Augment": {new(Augment), Augmentations()},
		"Normalization": {new(Normalization), append(Normalizations(), "0.5,0.25,0/1,2,-0.125",
			"bgr:0,0,0/1,1,1", "bgr:0.5,0.25,0/1,2,-0.125")},
	} {
		for _, want := range c.known {
			if err := c.v.UnmarshalText([]byte(want)); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if got, err := c.v.MarshalText(); err != nil || string(got) != want {
				t.Errorf("%s: %q became %q, %v", name, want, got, err)
			}
		}
		was, _ := c.v.MarshalText()
		err := c.v.UnmarshalText([]byte("sideways"))
		if err == nil || !strings.Contains(err.Error(), `"sideways"`) || !strings.Contains(err.Error(), c.known[0]) {
			t.Errorf("%s: %v", name, err)
		}
		if now, _ := c.v.MarshalText(); string(now) != string(was) {
			t.Errorf("%s: an error changed %s into %s", name, was, now)
		}
	}
	for _, text := range []string{"1,1/1,1", "a,b,c/1,1,1", "1,1,1/0,1,1", "NaN,0,0/1,1,1", "1,1,1/1,1,Inf", "1,1,1",
		"bgr:", "bgr:imagenet", "bgr:1,1,1/0,1,1", "rgb:0,0,0/1,1,1"} {
		if n, err := ParseNormalization(text); err == nil {
			t.Errorf("%q became %v", text, n)
		}
	}
}

func TestTextOfTheUnnamed(t *testing.T) {
	for want, v := range map[string]any{
		"no way to fit images number 7": Fit(7), "no filter number 6": Filter(6),
		"not a preset":     Augment{Flip: 0.3},
		"finite and not 0": Normalization{Mean: [3]float32{1, 1, 1}},
	} {
		if b, err := json.Marshal(v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v became %s, %v", v, b, err)
		}
	}
	if s := Fit(7).String() + Filter(9).String(); s != "Fit(7)Filter(9)" {
		t.Error(s)
	}
	if s := (Normalization{BGR: true}).String(); s != "bgr:0,0,0/1,1,1" {
		t.Error(s)
	}
	// The zero value has the text of what it means.
	b, err := json.Marshal(Config{}.Normalize)
	if err != nil || string(b) != `"unit"` {
		t.Errorf("%s, %v", b, err)
	}
}
