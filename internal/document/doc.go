// Package document presents an answer to readers: sentences, verdicts, tables and pictures. A
// document is made once, and shown as text on a terminal and as a page of HTML. Only the page has
// pictures.
package document
