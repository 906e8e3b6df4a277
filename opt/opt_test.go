package opt_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/kindred-ml/kindred/opt"
)

func TestFloat(t *testing.T) {
	for _, c := range []struct {
		f    opt.Float
		or   float64 // of a default of 0.2
		text string
	}{
		{opt.Float{}, 0.2, ""}, {opt.Of(0), 0, "0"}, {opt.Of(0.5), 0.5, "0.5"}, {opt.Of(-1e300), -1e300, "-1e+300"},
		{opt.Of(1.0 / 3), 1.0 / 3, "0.3333333333333333"}, {opt.Of(5e-324), 5e-324, "5e-324"},
	} {
		if got := c.f.Or(0.2); got != c.or {
			t.Errorf("%v.Or(0.2) = %v, want %v", c.f, got, c.or)
		}
		if c.f.IsSet() != (c.text != "") || c.f.IsZero() != (c.text == "") {
			t.Errorf("%v is set: %v, is zero: %v", c.f, c.f.IsSet(), c.f.IsZero())
		}
		text, err := c.f.MarshalText()
		if err != nil || string(text) != c.text {
			t.Errorf("%v as text is %q, %v, want %q", c.f, text, err, c.text)
		}
		back := opt.Of(7)
		if err := back.UnmarshalText(text); err != nil || back != c.f {
			t.Errorf("%q reads as %v, %v, want %v", text, back, err, c.f)
		}
	}
}

// options is a configuration with optional numbers.
type options struct {
	Margin opt.Float `json:"margin" yaml:"margin"`
	Scale  opt.Float `json:"scale,omitzero" yaml:"scale,omitempty"`
}

// TestFormats writes and reads options in JSON and in YAML.
func TestFormats(t *testing.T) {
	for _, c := range []struct {
		o          options
		json, yaml string
	}{
		{options{}, `{"margin":null}`, "margin: null\n"},
		{options{Margin: opt.Of(0.25), Scale: opt.Of(0)}, `{"margin":0.25,"scale":0}`, "margin: 0.25\nscale: 0.0\n"},
	} {
		text, err := json.Marshal(c.o)
		if err != nil || string(text) != c.json {
			t.Errorf("%v as JSON is %s, %v, want %s", c.o, text, err, c.json)
		}
		back := options{Margin: opt.Of(7)}
		if err := json.Unmarshal(text, &back); err != nil || back != c.o {
			t.Errorf("%s reads as %v, %v, want %v", text, back, err, c.o)
		}
		if text, err = yaml.Marshal(c.o); err != nil || string(text) != c.yaml {
			t.Errorf("%v as YAML is %q, %v, want %q", c.o, text, err, c.yaml)
		}
		back = options{}
		if err := yaml.Unmarshal(text, &back); err != nil || back != c.o {
			t.Errorf("%q reads as %v, %v, want %v", text, back, err, c.o)
		}
	}
	var o options
	if err := json.Unmarshal([]byte(`{"margin":"0.5"}`), &o); err != nil || o.Margin != opt.Of(0.5) {
		t.Errorf("a number in quotes reads as %v, %v", o.Margin, err)
	}
}

func TestNotANumber(t *testing.T) {
	for _, text := range []string{"x", "0.5 ", "1,5", "nan", "inf", "-Inf", "1e999", "0x", "true"} {
		f := opt.Of(7)
		if err := f.UnmarshalText([]byte(text)); err == nil || f != opt.Of(7) {
			t.Errorf("%q reads as %v, %v", text, f, err)
		}
	}
	for _, value := range []string{`true`, `[]`, `{}`, `"x"`, `1e999`} {
		if err := json.Unmarshal([]byte(`{"margin":`+value+`}`), new(options)); err == nil {
			t.Errorf("%s is read without an error", value)
		}
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if text, err := opt.Of(x).MarshalText(); err == nil || !strings.Contains(err.Error(), "not finite") {
			t.Errorf("%v as text is %q, %v", x, text, err)
		}
		if text, err := json.Marshal(opt.Of(x)); err == nil {
			t.Errorf("%v as JSON is %s", x, text)
		}
	}
}

// FuzzUnmarshalText: what is read is finite, and is written so that it reads back.
func FuzzUnmarshalText(f *testing.F) {
	for _, s := range []string{"", "0", "-0", "0.1", "1e-320", "0x1p-2", "1_0", "Infinity", "1e999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var x, back opt.Float
		if x.UnmarshalText([]byte(s)) != nil {
			return
		}
		text, err := x.MarshalText()
		if err != nil {
			t.Fatalf("%q reads as %v, which is not written: %v", s, x, err)
		}
		if err := back.UnmarshalText(text); err != nil || back != x || back.IsSet() != (s != "") {
			t.Fatalf("%q reads as %v, is written as %q and reads back as %v, %v", s, x, text, back, err)
		}
	})
}
