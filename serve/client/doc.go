// Package client speaks to `kindred serve`.
//
//	c, err := client.New("http://127.0.0.1:7700", client.Options{Key: os.Getenv("KINDRED_KEY")})
//	found, err := c.SearchPicture(ctx, photo, api.Search{K: 10})
//	for _, n := range found.Neighbours { fmt.Println(n.ID, n.Distance) }
//
// Its methods take and return the messages of package serve/api. What the server
// refuses is an *Error, which has the problem's stable Code, what is wrong and the way
// out. A request that it has no time or no room for (429, 503) is sent again after
// the wait that it asks for; so is one that met no server, if sending it twice does no
// harm.
package client
