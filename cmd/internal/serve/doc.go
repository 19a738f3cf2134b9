// Package serve offers the applications in a browser on this machine. The user uploads a table,
// asks a question with a form, and reads the report of the run. Forms are made from the flags of
// the commands in the registry of applications, and runs are processes of the same program.
//
// The state of the server is a folder, the workspace: tables/ holds uploads, and runs/ the run
// directories, each with the question of the user (serve.json) and the messages of its process
// (serve.log). A restarted server finds all of them.
//
// Threats and answers:
//
//	pages of other sites            no cookie (SameSite), Origin and Sec-Fetch-Site are checked
//	names that resolve to 127.0.0.1 only 127.0.0.1, localhost and [::1] are answered (Host)
//	other users of the machine      a secret of 256 bits, in a file that only the owner reads
//	servers of these users          the cookie is for a path that they do not know
//	paths in requests               only names, opened below an os.Root, never through links
//	flags that name files           get tables of the workspace; only flags of the form are read
//	scripts in names of columns     html/template; a policy without foreign or inline scripts
//	tables that fill the memory     sizes are limited, and only child processes read tables
package serve
