// Package parquet adds Apache Parquet to the formats of package embedding, for
// programs that want it; those that do not, do not link a Parquet library.
//
//	files := embedding.Formats{parquet.Format{}}
//	t, err := files.Read("E.parquet")
//
// Embeddings are one list column of floats, or columns embedding_0,
// embedding_1, ...; path (or file, filename) names the items, an id in which
// nothing occurs twice identifies them; other columns of integers, booleans and
// text are labels, and those of another type are passed over (but see
// Format.Fractions). Files are written with the columns id, path, the labels as
// 64-bit integers or strings, and the list embedding; pandas, Polars, DuckDB and
// Spark read them.
package parquet
