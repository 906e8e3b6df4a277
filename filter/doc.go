// Package filter selects items of a store, by a filter as text and as a tree:
//
//	f, err := filter.Parse(`price < 20 and category = "shoe"`)
//	f.Match(&item)          // does the item pass?
//	f.Check(info.Columns)   // do its columns exist, with these kinds?
//	switch e := f.Expr().(type) { ... } // for the language of another engine
//
// Every engine behind store.Store reads filters by this package, so a text has the same
// meaning everywhere. The grammar is
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
// called id and path are always there. Numbers compare by size, texts by the order of their
// bytes, which suits dates such as 2026-01-31; truth values only compare by = and !=.
//
// Every test of a missing value is false, except "is missing"; "not" turns false into true.
// So price != 5 leaves out items without a price, and not price = 5 includes them. An empty
// path is missing.
package filter
