package lookup

import (
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/option"
)

func TestKind(t *testing.T) {
	for _, c := range []struct {
		of   Spec
		want Kind
	}{
		{Spec{}, None}, {Spec{In: "p"}, Photos}, {Spec{Embeddings: "e", In: "p"}, Vectors},
		{Spec{Embeddings: "e", Vector: "v"}, Rows}, {Spec{Embeddings: "e", Vector: "v", Run: "r"}, Vectors},
		{Spec{Index: "i", In: "p"}, Index}, {Spec{Index: "i", Store: "s"}, Store}, {Spec{Choices: true, Index: "i"},
			Labels},
	} {
		if got := c.of.Kind(); got != c.want {
			t.Errorf("%+v: %v, want %v", c.of, got, c.want)
		}
	}
}

// A setting that does not apply is refused with its name, the gallery and the reason.
func TestValidate(t *testing.T) {
	for _, c := range []struct {
		of    Spec
		given string
		want  string
	}{
		{Spec{Index: "i"}, "in", "in does not apply to an index: give one gallery"},
		{Spec{In: "p"}, "index", "index does not apply to photos that are embedded: give one gallery"},
		{Spec{Index: "i"}, "network", "network does not apply to an index: an index contains its network"},
		{Spec{Index: "i"}, "distance", "it uses the distance that it was made with"},
		{Spec{Store: "s"}, "exact", "exact does not apply to a store of a database"},
		{Spec{Choices: true}, "fpir", "fpir does not apply to labels as words"},
		{Spec{Index: "i"}, "column", ""}, {Spec{Store: "s"}, "run", ""}, {Spec{In: "p"}, "network", ""},
	} {
		err := c.of.Validate(func(setting string) bool { return setting == c.given })
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) ||
			!option.IsUsage(err)) {
			t.Errorf("%+v with %s: %v", c.of, c.given, err)
		}
	}
}
