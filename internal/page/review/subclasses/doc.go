// Package subclasses presents the sub-classes that package discover finds: as names, tables and
// a page of package review.
package subclasses
