package run

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Every field of a configuration has a key of the same section, and no two keys have the
// same field.
func TestEveryFieldHasAKey(t *testing.T) {
	c := Default()
	of := map[any]string{}
	for i := range keys {
		k := &keys[i]
		if k.at == nil {
			continue
		}
		if other, taken := of[k.at(&c)]; taken {
			t.Errorf("%s and %s have one field", other, k.name)
		}
		of[k.at(&c)] = k.name
	}
	sections := reflect.ValueOf(&c).Elem()
	for i := range sections.NumField() {
		section := strings.ToLower(sections.Type().Field(i).Name)
		if _, free := c.free(section); free {
			continue
		}
		for j := range sections.Field(i).NumField() {
			name, field := of[sections.Field(i).Field(j).Addr().Interface()], sections.Field(i).Type().Field(j).Name
			want := section + "." + strings.ToLower(field)
			if strings.ReplaceAll(name, "_", "") != want {
				t.Errorf("the key of %s is %q", want, name)
			}
		}
	}
}

// What is unset is told from what is set, for values of every type.
func TestKeysAreUnset(t *testing.T) {
	for i := range keys {
		k := &keys[i]
		c := Default()
		if k.unset(&c) != (k.def == nil) {
			t.Errorf("%s by default: %v", k.name, k.value(&c))
		}
		was := k.value(&c)
		k.put(&c, nil)
		if !k.unset(&c) {
			t.Errorf("%s: %v is not unset", k.name, k.value(&c))
		}
		if k.put(&c, was); !reflect.DeepEqual(k.value(&c), was) {
			t.Errorf("%s: %v came back as %v", k.name, was, k.value(&c))
		}
	}
	mine, other := Default(), Default()
	mine.Eval.Recall[0] = 9
	if other.Eval.Recall[0] == 9 || Default().Eval.Recall[0] == 9 {
		t.Error("configurations share their lists")
	}
}

// The words that a key is completed by are taken; of keys that are for some configurations
// alone, in one of these.
func TestKeysTakeTheirValues(t *testing.T) {
	offered := 0
	for _, k := range Keys() {
		for _, v := range k.Values {
			set := []string{k.Name + "=" + v}
			switch {
			case k.Name == "train.schedule":
				set = append(set, "train.steps=3")
			case k.Name == "loss.triplets" || k.Name == "loss.single":
				set = append(set, "loss.name=margin")
			case k.Name == "mine.positives" && v == "semihard":
				set = append(set, "mine.negatives=hard")
			}
			if _, err := Parse("", nil, set...); err != nil {
				t.Errorf("%v: %v", set, err)
			}
			offered++
		}
	}
	if offered < 100 {
		t.Errorf("%d values only", offered)
	}
	if names := keyNames(); !slices.Contains(names, "data.size") || slices.Contains(names, "loss.name") {
		t.Errorf("keys of their own: %v", names)
	}
}

// Values of a Switch are text both ways, with auto for the zero value.
func TestSwitchAsText(t *testing.T) {
	for s, want := range map[Switch]string{Auto: "auto", On: "true", Off: "false"} {
		text, err := s.MarshalText()
		var again Switch = "x"
		if err2 := again.UnmarshalText(text); err != nil || err2 != nil || again != s || string(text) != want ||
			fmt.Sprint(s) != want {
			t.Errorf("%q: %s, %q, %v, %v", string(s), text, again, err, err2)
		}
	}
	if err := new(Switch).UnmarshalText(nil); err == nil {
		t.Error("no text was taken")
	}
}
