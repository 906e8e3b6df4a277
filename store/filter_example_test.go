package store_test

import (
	"fmt"

	"github.com/kindred-ml/kindred/store"
)

// A filter says which items count.
func ExampleFilter() {
	f, err := store.ParseFilter(`price < 20 and category != "hat"`)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, it := range []store.Item{
		{ID: "clog", Columns: map[string]any{"price": 15.0, "category": "shoe"}},
		{ID: "boot", Columns: map[string]any{"price": 80.0, "category": "shoe"}},
		{ID: "beret", Columns: map[string]any{"price": 9.0, "category": "hat"}},
		{ID: "gift", Columns: map[string]any{"category": "shoe"}}, // no price
	} {
		fmt.Println(it.ID, f.Match(&it))
	}
	// Output:
	// clog true
	// boot false
	// beret false
	// gift false
}

// A filter that is wrong says where.
func ExampleParseFilter() {
	_, err := store.ParseFilter(`price <`)
	fmt.Println(err)
	// Output: filter "price <": column 8: expected a number, a text in quotes, true or false, not the end
}

// Check finds columns that are not there before a search finds nothing.
func ExampleFilter_Check() {
	f, err := store.ParseFilter(`prise < 20`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Check([]store.Column{{Name: "price", Kind: store.Number}}))
	// Output: filter "prise < 20": column 1: no column prise (did you mean "price"?): the columns are id, path, price
}

// An engine with a language of its own gets the tree.
func ExampleFilter_Expr() {
	f, err := store.ParseFilter(`not sold and price >= 5`)
	if err != nil {
		fmt.Println(err)
		return
	}
	var words func(store.Expr) string
	words = func(e store.Expr) string {
		switch e := e.(type) {
		case store.And:
			text := words(e[0])
			for _, part := range e[1:] {
				text += " AND " + words(part)
			}
			return text
		case store.Not:
			return "NOT (" + words(e.Expr) + ")"
		case *store.Condition:
			return fmt.Sprint(e.Column, " ", e.Op, " ", e.Values)
		}
		return "?"
	}
	fmt.Println(words(f.Expr()))
	// Output: NOT (sold is true []) AND price >= [5]
}
