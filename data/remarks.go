package data

import (
	"fmt"
	"regexp"
	"strings"
)

// datedFolder matches the path of a folder that ends in a date, as cameras and photo programs name folders:
// 2024/03/17, 2024/2024-03-17, 2024-03-17 Beach, 20240317, 2024/03. A year alone is not a date,
// because it may be the class of a coin.
var datedFolder = regexp.MustCompile(`(^|/)(19|20)\d\d(` +
	`[-_./](0?[1-9]|1[0-2])([-_./](0?[1-9]|[12]\d|3[01])([ _-][^/]*)?)?` +
	`|(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01]))$`)

// yearFolder matches a folder of photographs of one year.
var yearFolder = regexp.MustCompile(`^(19|20)\d\d$`)

// remarks returns remarks on suspicious class folders: folders that are dates, and nested folders
// whose classes mostly have one image. Dates below other classes are not classes; see newLevels.
func (d *Dataset) remarks() []string {
	c, err := d.Column(d.Fine)
	if err != nil {
		return nil
	}
	const most = 0.5 // share of the classes
	days, single, deep, day, inner := 0, 0, 0, "", ""
	for id, n := range c.Counts() {
		name := c.Classes[id]
		if n == 1 {
			single++
		}
		top, _, _ := strings.Cut(name, "/")
		if datedFolder.MatchString(name) && (d.Levels == nil || yearFolder.MatchString(top)) {
			if days++; day == "" {
				day = name
			}
		}
		if strings.Count(name, "/") > 1 {
			if deep++; inner == "" {
				inner = name
			}
		}
	}
	all := float64(len(c.Classes))
	classes := fmt.Sprintf("%d classes, %d of them with one image", len(c.Classes), single)
	const wayOut = "put the images of each class into a separate folder, or list them with their labels in " +
		"a manifest (embedding, search and indexing need no classes)"
	switch {
	case float64(days) >= most*all:
		return []string{fmt.Sprintf("the folders are dates, such as %s, and each is taken for a class: %s. Training "+
			"and scores then concern the day of a picture: %s", day, classes, wayOut)}
	case float64(deep) >= most*all && float64(single) >= most*all:
		return []string{fmt.Sprintf("folders are nested, such as %s, and each whole path is taken for a "+
			"class: %s: %s", inner, classes, wayOut)}
	}
	return nil
}
