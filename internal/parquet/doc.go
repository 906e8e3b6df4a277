// Package parquet adds Apache Parquet to the formats of package embedding. It is
// a separate package so that only programs that use it link a Parquet library.
//
//	files := embedding.Formats{parquet.Format{}}
//	t, err := files.Read("E.parquet")
//
// Embeddings are one list column of floats, or columns embedding_0, embedding_1, .... The column path (or file,
// filename) has the names of the items. A column id in which no value occurs twice identifies them. Other
// columns of integers, decimals, booleans, text, dates, times, UUIDs and intervals are labels. Their texts are
// the logical values: 19.99 for DECIMAL(5, 2), 2024-01-01T10:00:00Z for a TIMESTAMP that is adjusted to UTC,
// and the same without Z for one that is not. A missing value is the empty text, but in the columns id and path
// it is an error. A field of a structure is called label.name. Columns of floats are ignored (but see
// Format.Fractions). Lists, and bytes that are not text, are listed in embedding.Table.Skipped.
//
// Files are written with the columns id, path, the labels as 64-bit integers or strings, and the list
// embedding. pandas, Polars, DuckDB and Spark read them.
package parquet
