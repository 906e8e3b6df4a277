// Package mirror makes an index match a folder of photos, or another data set of image
// files.
//
//	plan, err := mirror.NewPlan(ctx, x, set, mirror.Options{})
//	done, err := plan.Apply(ctx, x, model)
//
// Look compares and changes nothing; package changes has the rules. Apply embeds new photos and changes
// the index in one step, completely or not at all. The next comparison needs the size, time and
// digest of each file. They are in columns of the items, so that they are always written together with
// their embeddings. What people change in items stays (CopyFileRecord), also between Look and Apply. A server
// holds back the removals of many items (Hold) until somebody decides about them (Removals).
package mirror
