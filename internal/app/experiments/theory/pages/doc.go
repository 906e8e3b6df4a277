// Package pages runs the computations of internal/app/experiments/theory/noise,
// internal/app/experiments/theory/isometry and internal/app/experiments/theory/field at the settings of
// kindred theory, and writes what they find: a page in plain words, figures as SVG and PNG, and the drawn
// numbers as CSV.
//
// In: options whose zero values are the defaults, and a folder. Out: files, and
// a struct with the figures for --json. The computations are deterministic by
// seed; only the measured seconds differ between two runs.
package pages
