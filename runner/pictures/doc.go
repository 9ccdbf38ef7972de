// Package pictures takes the pictures of an issue, and of the comments on it, to the model.
//
// [Gather] finds them in the texts that a session is given (find.go), has the tracker read them,
// within bounds of number, size and time, and decodes each of them once (check.go), so that it is
// what it says. [Set.Text] tells the model which pictures it gets and which it does not.
//
// A picture is as untrusted as the text that shows it, and counts under the same conditions: a
// picture that the prompt does not name is not taken. The hosts that are asked, and the
// credential, are the tracker's business; see [tracker.Pictures]. No picture fails a session.
package pictures
