package serve

import (
	"net/url"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// Items are listed in an order that a seed draws, with how many pass, and by what their ids
// are like; a database does neither.
func TestListBrowse(t *testing.T) {
	contract := newContract(t)
	do := &caller{t: t, contract: contract, s: newServer(t, Options{Collections: []Collection{
		{Name: "things", Store: newFilledStore(t, 20)}, {Name: "plain",
			Store: struct{ store.Store }{newFilledStore(t, 3)}}}})}
	list := func(query string) (out api.Listed, ids []string) {
		t.Helper()
		do.get("/v1/items?"+query).want(t, 200).into(t, &out)
		for _, it := range out.Items {
			ids = append(ids, it.ID)
		}
		return out, ids
	}
	byID, ids := list("limit=7")
	first, one := list("limit=7&seed=1")
	again, same := list("limit=7&seed=1")
	_, two := list("limit=7&seed=2")
	if byID.Passed != nil || first.Passed == nil || *first.Passed != 60 || !slices.Equal(one, same) ||
		again.Next != one[6] || slices.Equal(one, two) || slices.Equal(one, ids) {
		t.Errorf("by id %q, drawn %q of %v, again %q, by another seed %q", ids, one, first.Passed, same, two)
	}
	_, more := list("limit=60&seed=1&after=" + url.QueryEscape(first.Next))
	if all := slices.Concat(one, more); len(all) != 60 || len(slices.Compact(slices.Sorted(slices.Values(all)))) != 60 {
		t.Errorf("in pages %q", all)
	}
	some, ids := list("seed=1&filter=" + url.QueryEscape(`label = "red" and price < 3`))
	if *some.Passed != 3 || some.Next != "" || len(ids) != 3 {
		t.Errorf("%d pass: %q", *some.Passed, ids)
	}
	like, ids := list("limit=2&like=" + url.QueryEscape("green/00"))
	if !slices.Equal(ids, []string{"green/000", "green/001"}) || like.Next != "" || like.Items[0].Vector != nil {
		t.Errorf("like it are %+v", like)
	}
	if nothing, _ := list("like=zebra&vectors=true"); nothing.Items == nil || len(nothing.Items) != 0 {
		t.Errorf("like nothing are %+v", nothing)
	}
	for _, bad := range []string{"seed=-1", "seed=x", "like=a&after=b", "like=a&filter=sold", "like=a&seed=1",
		"like=a&limit=0"} {
		do.get("/v1/items?"+bad).want(t, 400, "bad_request")
	}
	do.get("/v1/items?collection=plain&seed=1").want(t, 422, "invalid")
	do.get("/v1/items?collection=plain&like=red").want(t, 422, "invalid")
	var info api.Info
	do.get("/v1/info").want(t, 200).into(t, &info)
	if !info.Collections[0].Browse || info.Collections[1].Browse {
		t.Errorf("browse: %v, %v", info.Collections[0].Browse, info.Collections[1].Browse)
	}
}
