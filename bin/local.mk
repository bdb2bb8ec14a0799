# A program is one file over the library, or a script.


