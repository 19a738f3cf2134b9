// Package document is an answer for readers: sentences, verdicts, tables and pictures. It is made
// once, and shown as text on a terminal and as a page of HTML, which has the pictures too.
package document
