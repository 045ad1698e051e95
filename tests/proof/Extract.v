(* The checker as a program. Numbers become machine integers of 63 bits: no number of Pawl has more than 53. *)

From Coq Require Extraction ExtrOcamlBasic ExtrOcamlNatInt.
From Pawl Require Import Checker.

Extraction "checker.ml" judge first_tables.
