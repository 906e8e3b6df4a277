package data

import (
	"fmt"
	"strconv"
	"strings"
)

// Labels returns the column to train or score with. what is the name of a column, a role that Column
// knows, or a rule over the numbers of the fine classes:
//
//	parity              even and odd: the EPS paper's coarse label of MNIST
//	mod:K               the number modulo K
//	groups:0-4|5,7|8-9  one class for each group of class numbers; every class
//	                    of the set must be in exactly one group
//
// Errors say what is wrong with the rule.
func (d *Dataset) Labels(what string) (*Column, error) {
	rule, arg, hasArg := strings.Cut(what, ":")
	switch {
	case rule == "parity" && !hasArg:
		return d.ruleMod(2, []string{"even", "odd"})
	case rule == "mod" && hasArg:
		k, err := strconv.ParseInt(arg, 10, 64)
		if err != nil || k < 1 || k > 1<<20 {
			return nil, fmt.Errorf("label rule %q: the modulus must be a whole number from 1 to %d", what, 1<<20)
		}
		names := make([]string, k)
		for i := range names {
			names[i] = strconv.Itoa(i)
		}
		return d.ruleMod(k, names)
	case rule == "groups" && hasArg:
		return d.ruleGroups(what, strings.Split(arg, "|"))
	}
	c, err := d.Column(what)
	if err != nil {
		return nil, fmt.Errorf("%w (rules: parity, mod:K, groups:0-4|5-9)", err)
	}
	return c, nil
}

func (d *Dataset) ruleMod(k int64, names []string) (*Column, error) {
	fine, err := d.Column("fine")
	if err != nil {
		return nil, err
	}
	out := &Column{Name: "parity", IDs: make([]int64, len(fine.IDs)), Classes: names}
	if k != 2 {
		out.Name = "mod " + strconv.FormatInt(k, 10)
	}
	for i := range out.Classes {
		out.Numbers = append(out.Numbers, int64(i))
	}
	for i, id := range fine.IDs {
		out.IDs[i] = ((fine.Number(id) % k) + k) % k
	}
	return out, nil
}

func (d *Dataset) ruleGroups(rule string, groups []string) (*Column, error) {
	fine, err := d.Column("fine")
	if err != nil {
		return nil, err
	}
	of := make([]int64, len(fine.Classes))
	for i := range of {
		of[i] = -1
	}
	out := &Column{Name: "groups", IDs: make([]int64, len(fine.IDs)), Classes: groups}
	for g, list := range groups {
		in, err := fine.ParseClasses(list)
		if err != nil {
			return nil, fmt.Errorf("label rule %q: %w", rule, err)
		}
		for id, member := range in {
			if member && of[id] >= 0 {
				return nil, fmt.Errorf("label rule %q: class %s is in groups %q and %q", rule, fine.Classes[id],
					groups[of[id]], list)
			}
			if member {
				of[id] = int64(g)
			}
		}
	}
	for id, g := range of {
		if g < 0 {
			return nil, fmt.Errorf("label rule %q: class %s (number %d) is in no group", rule, fine.Classes[id],
				fine.Number(int64(id)))
		}
	}
	for i, id := range fine.IDs {
		out.IDs[i] = of[id]
	}
	return out, nil
}

// ParseClasses reads a list of classes such as "0-5", "1-98" or "3,7-9,Laysan Albatross". The items
// are numbers as in Column.Number, inclusive ranges, or names. The result has an element for every
// class id: whether the list contains the class. "" and "all" mean every class.
func (c *Column) ParseClasses(list string) ([]bool, error) {
	in := make([]bool, len(c.Classes))
	if s := strings.TrimSpace(list); s == "" || s == "all" {
		for i := range in {
			in[i] = true
		}
		return in, nil
	}
	byNumber := make(map[int64]int, len(in))
	byName := make(map[string]int, len(in))
	lowest, highest := int64(0), int64(0)
	for i := range in {
		n := c.Number(int64(i))
		byNumber[n], byName[c.Classes[i]] = i, i
		if i == 0 || n < lowest {
			lowest = n
		}
		if i == 0 || n > highest {
			highest = n
		}
	}
	unknown := func(item string) error {
		return fmt.Errorf("classes %q: no class %q: the %d classes of %q are numbered %d to %d", list, item, len(in),
			c.Name, lowest, highest)
	}
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		if i, ok := byName[item]; ok {
			in[i] = true
			continue
		}
		lo, hi, ok := parseRange(item)
		if !ok || lo > hi {
			return nil, unknown(item)
		}
		if _, ok := byNumber[lo]; !ok {
			return nil, unknown(item)
		}
		if _, ok := byNumber[hi]; !ok {
			return nil, unknown(item)
		}
		for n, i := range byNumber {
			if lo <= n && n <= hi {
				in[i] = true
			}
		}
	}
	return in, nil
}

func parseRange(s string) (lo, hi int64, ok bool) {
	// A leading minus belongs to a negative number, not to a range.
	cut := strings.IndexByte(s[min(1, len(s)):], '-')
	if cut < 0 {
		n, err := strconv.ParseInt(s, 10, 64)
		return n, n, err == nil
	}
	lo, err1 := strconv.ParseInt(strings.TrimSpace(s[:cut+1]), 10, 64)
	hi, err2 := strconv.ParseInt(strings.TrimSpace(s[cut+2:]), 10, 64)
	return lo, hi, err1 == nil && err2 == nil
}
