// Package store is the interface between programs that serve or search embedded
// items and the engine that holds them: an index folder of this module, or a vector
// database.
//
//	items with vectors -> Put -> Search(vector, k, filter) -> the nearest items
//
// An Item has an id, a vector and, optionally, the path of its picture and columns
// of text, numbers and truth values. All items of a Store have the same length of
// vector and the same distance, which Info returns. Package serve puts a Store
// behind HTTP. A program written for a Store works with every engine.
//
// The errors that callers act upon have types of their own, such as NotFoundError;
// every other error is a failure of the engine.
//
// # Filters
//
// Every engine reads filters by ParseFilter, so a text has the same meaning everywhere.
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
//	value      = -1.5e3 | "text" | 'text' | 2024-05-01 | 2024-05-01T12:30:05 | true | false
//
// The words and, or, not, in, is, missing, true and false may be in capitals. In a
// text \ goes before a quote or another \. The values of a list are of one kind. Columns
// called id and path are always there. Numbers compare by size, texts by the order of
// their bytes, which suits dates such as 2026-01-31. A date, or a date and time, is a text that needs
// no quotes. Truth values only compare by = and !=. In a column of text, and all columns of classes (label, coarse,
// fine, labels) are, = and in take numbers and truth values as they are written: label = 2.10 is not label = 2.1.
//
// Every condition on a missing value is false, except "is missing"; "not" turns false into
// true. So price != 5 leaves out items without a price, and not price = 5 includes them. An
// empty path is missing.
package store
