package objective

import (
	"errors"
	"fmt"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/option"
)

func TestKeyError(t *testing.T) {
	flag := func(name string) string { return map[string]string{option.Override: "--set"}[name] }
	at := &KeyError{Place: "run.yaml:3", Key: "train.lr", Text: "no number"}
	whole := &KeyError{Place: "run.yaml", Text: "not YAML"}
	set := &KeyError{Override: "train.lr=x", Key: "train.lr", Text: "no number"}
	for e, want := range map[*KeyError][2]string{
		at:    {"run.yaml:3: train.lr: no number", "train.lr: no number"},
		whole: {"run.yaml: not YAML", "not YAML"},
		set:   {"override train.lr=x: train.lr: no number", "train.lr: no number"},
		{}:    {"", ""},
	} {
		if e.Error() != want[0] || e.Message() != want[1] {
			t.Errorf("%q, %q, want %q", e.Error(), e.Message(), want)
		}
	}
	var all KeyErrors
	if all.Err() != nil {
		t.Error("no mistakes are an error")
	}
	again := *at
	all.Add(at)
	all.Add(&again)
	all.Add(set)
	err := fmt.Errorf("plan: %w", all.Err())
	if want := "plan: run.yaml:3: train.lr: no number\noverride train.lr=x: train.lr: no number"; err.Error() != want {
		t.Errorf("%q", err)
	}
	if want := "plan: run.yaml:3: train.lr: no number\n--set train.lr=x: train.lr: no number"; option.Text(err,
		flag) != want {
		t.Errorf("%q", option.Text(err, flag))
	}
	var one *KeyError
	if !errors.As(err, &one) || one != at {
		t.Errorf("%v", one)
	}
	var several KeyErrors
	if !errors.As(err, &several) || len(several) != 2 {
		t.Errorf("%v", several)
	}
}
