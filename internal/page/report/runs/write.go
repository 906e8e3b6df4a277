package runs

import "context"

// Write compares the runs in the given folders and writes the page to v.Page.
func Write(ctx context.Context, dirs []string, v PageOptions) (*Comparison, error) {
	var all []*Run
	for _, d := range dirs {
		r, err := Load(d)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	c := Compare(all)
	if err := c.renameGroups(v.Names); err != nil {
		return nil, err
	}
	if err := c.ReadEmbeddings(ctx, v); err != nil {
		return nil, err
	}
	page, err := c.Page()
	if err != nil {
		return nil, err
	}
	return c, page.WriteFile(v.Page)
}
