// Package store is the contract between what serves or searches embedded items and
// the engine that holds them: an index folder of this module, or a vector database.
//
//	items with vectors -> Put -> Search(vector, k, filter) -> the nearest items
//
// An Item has an id, a vector and, if it likes, the path of its picture and columns
// of text, numbers and truth values. A Store holds items of one length of vector
// and one distance, which Info tells. Package serve puts a Store behind HTTP;
// what is written against a Store works with every engine.
//
// Errors that callers act upon are those of errors.go; everything else is a failure
// of the engine.
//
// # Filters
//
// Every engine reads its filters by ParseFilter, so that one text has one meaning.
// The grammar is
//
//	filter     = and { "or" and }
//	and        = not { "and" not }
//	not        = "not" not | "(" filter ")" | condition
//	condition  = column ("=" | "!=" | "<" | "<=" | ">" | ">=") value
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
// A condition on a missing value is false, whatever it compares, but for "is missing";
// "not" turns that into true: price != 5 leaves out items without a price, and
// not price = 5 takes them in. A path that is empty is missing.
package store
