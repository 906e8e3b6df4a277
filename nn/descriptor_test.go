package nn

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestFieldsAreOfLayer: what descriptors call fields are fields of Layer, and each of
// these is refused, by its name, by the kinds that it means nothing to.
func TestFieldsAreOfLayer(t *testing.T) {
	typ := reflect.TypeFor[Layer]()
	var all []string
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		if name == "kind" || name == "name" {
			continue
		}
		all = append(all, name)
		for _, k := range Kinds() {
			l := Layer{Kind: k}
			switch v := reflect.ValueOf(&l).Elem().Field(i); v.Kind() {
			case reflect.Int:
				v.SetInt(1)
			case reflect.Float64:
				v.SetFloat(0.5)
			case reflect.Bool:
				v.SetBool(true)
			case reflect.String:
				v.SetString(string(InitSmall))
			default:
				if v.Type() == reflect.TypeFor[[]byte]() {
					v.SetBytes([]byte("a graph"))
				} else {
					v.Set(reflect.ValueOf([]Layer{{Kind: ReLU}}))
				}
			}
			err := l.check()
			refused := err != nil && err.Error() == name+" means nothing here"
			if means := slices.Contains(descriptorOf(k).fields(), name); refused == means {
				t.Errorf("%s of %s: error %v, and the descriptor says that it means something: %v", name, k, err, means)
			}
		}
	}
	for _, k := range Kinds() {
		for _, f := range descriptorOf(k).fields() {
			if !slices.Contains(all, f) {
				t.Errorf("%s: Layer has no field %s", k, f)
			}
		}
	}
}

// TestKindsAreListedOnce: a second descriptor of a kind would never be asked.
func TestKindsAreListedOnce(t *testing.T) {
	seen := map[Kind]bool{}
	for _, k := range Kinds() {
		if seen[k] {
			t.Errorf("%s is listed twice", k)
		}
		seen[k] = true
	}
	if descriptorOf("warp") != nil {
		t.Error("a kind that is not listed has a descriptor")
	}
}
