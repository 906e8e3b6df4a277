// Package paper holds the papers' experiments as data and runs them.
//
// In: an experiment (arms that differ in a few settings, what is measured, the
// published numbers) and a number of seeds. Out: a folder with one run folder
// per arm and seed, results.json, and report.html with our numbers beside the
// published ones. A finished run is kept and not repeated; one that was stopped
// is resumed.
package paper
