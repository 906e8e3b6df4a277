package weaviate

import (
	"testing"

	"github.com/kindred-ml/kindred/store"
)

// Negations go down to the tests, where a missing value makes them true.
func TestClause(t *testing.T) {
	for text, want := range map[string]string{
		"price < 2": `{path:["n_price"],operator:LessThan,valueNumber:2}`,
		"not price < 2": `{operator:Or,operands:[{path:["n_price"],operator:GreaterThanEqual,valueNumber:2},` +
			`{path:["kindredHas"],operator:NotEqual,valueText:"n_price"}]}`,
		"not (sold or id != 'a')": `{operator:And,operands:[{path:["b_sold"],operator:NotEqual,valueBoolean:true},` +
			`{operator:Or,operands:[{path:["kindredOrder"],operator:Equal,valueText:"x61"},` +
			`{path:["kindredHas"],operator:NotEqual,valueText:"kindredOrder"}]}]}`,
	} {
		f, err := store.ParseFilter(text)
		if err != nil {
			t.Fatal(err)
		}
		known := translator{func(string) bool { return true }}
		if have := known.translate(f.Expr(), false).String(); have != want {
			t.Errorf("%s is\n%s\nwant\n%s", text, have, want)
		}
	}
}
