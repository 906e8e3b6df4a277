// Package filter says which items of a store count, as text and as a tree:
//
//	f, err := filter.Parse(`price < 20 and category = "shoe"`)
//	f.Match(&item)          // of an item at hand
//	f.Check(info.Columns)   // are there such columns, and of these kinds?
//	switch e := f.Expr().(type) { ... } // for the language of another engine
//
// Every engine behind store.Store reads its filters by this package, so that one text has
// one meaning. The grammar is
//
//	filter     = and { "or" and }
//	and        = not { "and" not }
//	not        = "not" not | "(" filter ")" | test
//	test       = column ("=" | "!=" | "<" | "<=" | ">" | ">=") value
//	           | column ["not"] "in" "(" value { "," value } ")"
//	           | column "is" ["not"] "missing"
//	           | column                               a column of truth values: it is true
//	column     = a letter or _, then letters, digits, _, . or -; or anything in `backquotes`
//	value      = -1.5e3 | "text" | 'text' | true | false
//
// The words and, or, not, in, is, missing, true and false may be in capitals. In a
// text \ goes before a quote or another \. The values of a list are of one kind. Columns
// called id and path are always there. Numbers compare by size, texts by the order of
// their bytes, as dates such as 2026-01-31 need it; truth values only by = and !=.
//
// A test of a missing value is false, whatever it compares, but for "is missing";
// "not" turns that into true: price != 5 leaves out items without a price, and
// not price = 5 takes them in. A path that is empty is missing.
package filter
