// Package review writes the page on which a person decides about sub-classes and
// suspects of a set: accept, relabel, split or drop, by keys, with undo. The page keeps
// its progress in the browser and saves a corrected manifest and a log of the changes.
// It never changes the pictures. It is one file that needs no server.
package review
