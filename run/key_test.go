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
	for i := range table.Keys {
		k := &table.Keys[i]
		if k.At == nil {
			continue
		}
		if other, taken := of[k.At(&c)]; taken {
			t.Errorf("%s and %s have one field", other, k.Name)
		}
		of[k.At(&c)] = k.Name
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
	for i := range table.Keys {
		k := &table.Keys[i]
		c := Default()
		if table.Unset(&c, k) != (k.Default == nil) {
			t.Errorf("%s by default: %v", k.Name, table.Value(&c, k))
		}
		was := table.Value(&c, k)
		table.Put(&c, k, nil)
		if !table.Unset(&c, k) {
			t.Errorf("%s: %v is not unset", k.Name, table.Value(&c, k))
		}
		if table.Put(&c, k, was); !reflect.DeepEqual(table.Value(&c, k), was) {
			t.Errorf("%s: %v came back as %v", k.Name, was, table.Value(&c, k))
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
	fixed := func(name string) bool {
		return slices.ContainsFunc(Reference(), func(k Key) bool { return k.Name == name })
	}
	if !fixed("data.size") || fixed("loss.name") {
		t.Errorf("keys of sections with fixed keys: %v", Reference())
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
