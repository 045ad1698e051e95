(* What the checker accepts is a run of the model. So all theorems hold of it. *)

From Pawl Require Import Base Views Model Checker Theorems.

(* ---- Lists ------------------------------------------------------------------------------------------------ *)

Lemma nth_put_at : forall A (l : list A) i v d j, nth j (put_at l i v d) d = if j =? i then v else nth j l d.
Proof.
  intros A l i. revert l. induction i as [| i IH]; intros l v d j.
  - destruct l as [| x l], j as [| j]; cbn; try reflexivity. now destruct j.
  - destruct l as [| x l], j as [| j]; cbn; try reflexivity; rewrite IH; [| reflexivity].
    destruct j; cbn; reflexivity.
Qed.

Lemma get_put_at : forall l i v j, get (put_at l i v 0) j = if j =? i then v else get l j.
Proof. intros. apply nth_put_at. Qed.

Lemma same_list_eq : forall a b, same_list a b = true -> a = b.
Proof.
  induction a as [| x a IH]; intros [| y b] H; cbn in H; try discriminate; [reflexivity |].
  apply andb_prop in H. destruct H as [H1 H2]. apply Nat.eqb_eq in H1. f_equal; auto.
Qed.

Lemma same_page_eq : forall a b, same_page a b = true -> a = b.
Proof.
  induction a as [| [x n] a IH]; intros [| [y k] b] H; cbn in H; try discriminate; [reflexivity |].
  apply andb_prop in H. destruct H as [H H2]. apply andb_prop in H. destruct H as [H0 H1].
  apply Nat.eqb_eq in H0, H1. subst. f_equal. auto.
Qed.

Lemma same_leader_eq : forall a b, same_leader a b = true -> a = b.
Proof.
  intros [a i] [b j] H. apply andb_prop in H. destruct H as [H1 H2]. cbn in *.
  apply same_list_eq in H1. apply Nat.eqb_eq in H2. now subst.
Qed.

Lemma same_answer_eq : forall a b, same_answer a b = true -> a = b.
Proof.
  intros [m a] [k b] H. apply andb_prop in H. destruct H as [H1 H2]. cbn in *.
  apply same_list_eq in H2. apply Nat.eqb_eq in H1. now subst.
Qed.

Lemma all_below_le : forall a b, all_below a b = true -> forall i, get a i <= get b i.
Proof.
  unfold get. induction a as [| x a IH]; intros b H i; [destruct i; cbn; lia |].
  destruct b as [| y b]; cbn in H; apply andb_prop in H; destruct H as [H1 H2].
  - apply Nat.eqb_eq in H1. subst. destruct i; cbn; [lia |]. specialize (IH [] H2 i). destruct i; cbn in *; lia.
  - apply Nat.leb_le in H1. destruct i; cbn; [lia | now apply IH].
Qed.

Lemma has_in : forall x l, has x l = true <-> In x l.
Proof.
  induction l as [| y l IH]; cbn; [split; [discriminate | contradiction] |].
  rewrite orb_true_iff, Nat.eqb_eq, IH. split; intros [H | H]; auto.
Qed.

Lemma distinct_NoDup : forall l, distinct l = true -> NoDup l.
Proof.
  induction l as [| x l IH]; cbn; intro H; [constructor |]. apply andb_prop in H. destruct H as [H1 H2].
  constructor; [| auto]. intro Hin. apply has_in in Hin. rewrite Hin in H1. discriminate.
Qed.

Lemma replace_in : forall A is (v : A) l e, In e (replace is v l) -> e = v \/ In e l.
Proof.
  induction l as [| x l IH]; cbn; intros e H; [contradiction |].
  destruct (is x); destruct H as [H | H]; auto. apply IH in H. tauto.
Qed.

Lemma replaced : forall A is (v : A) l x, find is l = Some x ->
  In v (replace is v l) /\ forall e, In e l -> In e (replace is v l) \/ e = x.
Proof.
  induction l as [| y l IH]; cbn; intros x H; [discriminate |]. destruct (is y).
  - injection H as <-. split; [now left |]. intros e [<- | He]; [now right | left; now right].
  - apply IH in H. destruct H as [H1 H2]. split; [now right |].
    intros e [<- | He]; [left; now left |]. destruct (H2 e He); [left; now right | now right].
Qed.

(* What the list had with P, it has still, if v has P where x did. *)
Lemma still_has : forall A is (v x : A) l (P : A -> Prop), find is l = Some x -> (P x -> P v) ->
  (exists e, In e l /\ P e) -> exists e, In e (replace is v l) /\ P e.
Proof.
  intros A is v x l P Hf Hv (e & He & HP). destruct (replaced _ _ v _ _ Hf) as [R1 R2].
  destruct (R2 e He) as [H | ->]; [now exists e | exists v; auto].
Qed.

(* ---- How lists show a state of the model --------------------------------------------------------------------- *)

Definition shows (x : cells) (y : machine) : Prop :=
  state_of y = c_state x /\ lineage_of y = c_lineage x /\ (forall j, knows y j = get (c_knows x) j) /\
  (forall sl, counter y sl = get (c_counter x) sl) /\ (forall r, locks y r = nth r (c_locks x) None).

Definition attempt_of (e : try_) : attempt := Attempt (t_name e) (t_holder e) (t_what e).
Definition round_of (e : poll) : round := Round (p_name e) (p_counts e) (p_values e).
Definition break_of (e : ending) : break := Break (b_name e) (b_broken e) (b_token e).
Definition view_of (L : leader) : view := get (l_view L).
Definition answers_of (F : list answer) : list (member * numbers) := map (fun p => (fst p, get (snd p))) F.
Definition tokens_of (F : list answer) : numbers := highest (answers_of F).

Lemma tokens_of_is : forall F r, tokens_of F r = token_of F r.
Proof. intros. unfold tokens_of, highest, answers_of, token_of. rewrite map_map. reflexivity. Qed.

Lemma members_of_answers : forall F, members_of (answers_of F) = map fst F.
Proof. intros. unfold members_of, answers_of. rewrite map_map. reflexivity. Qed.

Record try_holds (h : list event) (e : try_) : Prop := {
  h_started : In (Started (attempt_of e)) h;
  h_answers : forall m V n, In (m, V, n) (t_answers e) -> exists o, In (Answered (attempt_of e) m (get V) (get n) o) h;
  h_frozen : forall F, t_frozen e = Some F -> In (Frozen (attempt_of e) (answers_of F) (tokens_of F)) h;
  h_confirmed : forall F m V, t_frozen e = Some F -> In (m, V) (t_confirmed e) ->
    exists o, In (Confirmed (attempt_of e) m (get V) (tokens_of F) o) h;
  h_granted : forall F, t_frozen e = Some F -> t_granted e = true -> In (Granted (attempt_of e) (tokens_of F)) h }.

Record poll_holds (h : list event) (e : poll) : Prop := {
  h_counting : In (Counting (round_of e)) h;
  h_counted : forall m V n, In (m, V, n) (p_answers e) -> In (Counted (round_of e) m (get V) n) h;
  h_agreed : forall n, p_agreed e = Some n -> In (Agreed (round_of e) n) h }.

Record ending_holds (h : list event) (e : ending) : Prop := {
  h_breaking : In (Breaking (break_of e)) h;
  h_broke : forall m V, In (m, V) (b_broke e) -> exists n, In (Broke (break_of e) m (get V) n) h /\ token (break_of e) < n;
  h_broken : b_done e = true -> In (Broken (break_of e)) h }.

(* The lists c show the state s: what is in the lists happened; and what may happen once only is in the lists. *)
Record shown (c : tables) (s : state) : Prop := {
  sh_machines : forall m k, shows (machine_at c m k) (machines s m k);
  sh_tries : forall e, In e (tries c) -> try_holds (history s) e;
  sh_started : forall a, In (Started a) (history s) -> exists e, In e (tries c) /\ t_name e = name a;
  sh_frozen : forall a F t, In (Frozen a F t) (history s) ->
    exists e, In e (tries c) /\ t_name e = name a /\ t_frozen e <> None;
  sh_polls : forall e, In e (polls c) -> poll_holds (history s) e;
  sh_counting : forall r, In (Counting r) (history s) -> exists e, In e (polls c) /\ p_name e = round_name r;
  sh_agreed : forall r n, In (Agreed r n) (history s) ->
    exists e, In e (polls c) /\ p_name e = round_name r /\ p_agreed e <> None;
  sh_endings : forall e, In e (endings c) -> ending_holds (history s) e;
  sh_breaking : forall b, In (Breaking b) (history s) -> exists e, In e (endings c) /\ b_name e = break_name b;
  sh_marks : forall m k I, In (Marked m k I) (history s) -> In (m, k, I) (marks c);
  sh_admits : forall m L n, In (Activated m L n) (history s) -> In (m, L m) (admits c);
  sh_installed : forall m I j V p, In (Installed m I j V p) (history s) -> exists L, In (m, I, j, L, p) (installs c);
  sh_records : forall j L, In (j, L) (records c) -> In (Recorded j (view_of L)) (history s);
  sh_reads : forall j L p, In (j, L, p) (reads c) -> In (Read j (view_of L) p) (history s);
  sh_installs : forall m I j L p, In (m, I, j, L, p) (installs c) -> In (Installed m I j (view_of L) p) (history s) }.

Lemma try_still_holds : forall h x e, try_holds h e -> try_holds (x :: h) e.
Proof.
  intros h x e [H1 H2 H3 H4 H5]. constructor; cbn; auto.
  - intros m V n Hm. destruct (H2 m V n Hm) as (o & Ho). exists o. auto.
  - intros F m V HF Hm. destruct (H4 F m V HF Hm) as (o & Ho). exists o. auto.
Qed.

Lemma poll_still_holds : forall h x e, poll_holds h e -> poll_holds (x :: h) e.
Proof. intros h x e [H1 H2 H3]. constructor; cbn; auto. Qed.

Lemma ending_still_holds : forall h x e, ending_holds h e -> ending_holds (x :: h) e.
Proof.
  intros h x e [H1 H2 H3]. constructor; cbn; auto.
  intros m V Hm. destruct (H2 m V Hm) as (n & Hn & Ht). exists n. auto.
Qed.

Lemma shows_after_put : forall c M m k x y,
  (forall m k, shows (machine_at c m k) (M m k)) -> shows x y ->
  forall m' k', shows (nth k' (nth m' (rows (with_machine c m k x)) [first_machine]) no_machine) (put M m k y m' k').
Proof.
  intros c M m k x y H Hx m' k'. unfold with_machine, put, set. cbn [rows]. rewrite nth_put_at.
  destruct (Nat.eqb_spec m' m) as [-> | D]; [| apply H].
  rewrite nth_put_at. destruct (Nat.eqb_spec k' k) as [-> | D]; [assumption | apply H].
Qed.

(* ---- Refusals ----------------------------------------------------------------------------------------------- *)

Lemma needed : forall b r v c, need b r v = allowed c -> b = true /\ v = allowed c.
Proof. intros [|] r v c H; cbn in H; [auto | discriminate]. Qed.

Local Arguments get : simpl never.

Section Sound.
  Variable N : nat.
  Variable table : list nat.

  Notation judge := (judge N table).
  Notation step := (step (slot_in table) (all_slots table) (majority N) as_designed).
  Notation steps := (steps (slot_in table) (all_slots table) (majority N) as_designed).
  Notation accepts := (accepts as_designed).

  Lemma all_slots_are_all : forall r, In (slot_in table r) (all_slots table).
  Proof.
    intro r. apply nodup_In. unfold slot_in, get. destruct (nth_in_or_default r table 0) as [H | ->]; [now right | now left].
  Qed.

  Lemma majority_is : forall Q, is_majority N Q = true -> majority N Q.
  Proof.
    intros Q H. apply andb_prop in H. destruct H as [H H3]. apply andb_prop in H. destruct H as [H1 H2].
    split; [now apply distinct_NoDup | split; [| now apply Nat.ltb_lt]].
    intros m Hm. apply Nat.ltb_lt. revert m Hm. now apply forallb_forall.
  Qed.

  Lemma accepted : forall m x y V v c, shows x y -> if_accepted m x V v = allowed c ->
    accepts m y (get V) /\ v = allowed c.
  Proof.
    intros m x y V v c (S1 & S2 & S3 & S4 & S5) H. unfold if_accepted in H.
    apply needed in H. destruct H as [H1 H]. apply needed in H. destruct H as [H2 H].
    apply needed in H. destruct H as [H3 H]. apply needed in H. destruct H as [H4 H].
    split; [| assumption]. split; [| split; intros _].
    - rewrite S1. unfold is_active in H1. now destruct (c_state x).
    - rewrite S2. unfold is_kept in H2. now destruct (c_lineage x).
    - apply Nat.eqb_eq in H3. split; [now rewrite S3 |].
      intro j. rewrite S3. now apply all_below_le.
  Qed.

  (* ---- step 1 ------------------------------------------------------------------------------------------ *)

  Lemma took_may : forall x y i r n o, shows x y -> took table x i r n = inl o -> may_take (slot_in table) as_designed y i r n o.
  Proof.
    intros x y i r n o (S1 & S2 & S3 & S4 & S5) H. unfold took, lock_at in H. unfold may_take. rewrite S4, S5.
    destruct (nth r (c_locks x) None) as [l |].
    - destruct (Nat.eqb_spec (by_id l) i) as [E | D]; [| discriminate].
      destruct (from l) eqn:Ef.
      + destruct (Nat.eqb_spec n (number l)); [| discriminate]. injection H as <-.
        right. exists l. rewrite Ef. repeat split; auto; discriminate.
      + destruct (Nat.ltb_spec (get (c_counter x) (slot_in table r)) n); [| discriminate]. injection H as <-.
        left. split; [reflexivity | split; [assumption | right; now exists l]].
      + destruct (Nat.eqb_spec n (number l)); [| discriminate]. injection H as <-.
        right. exists l. rewrite Ef. repeat split; auto; discriminate.
    - destruct (Nat.ltb_spec (get (c_counter x) (slot_in table r)) n); [| discriminate]. injection H as <-.
      left. auto.
  Qed.

  Definition origin_after (x : cells) (i : nat) (n : list nat) (r : nat) : origin :=
    match took table x i r (get n r) with inl o => o | inr _ => taken end.

  Lemma take_all_may : forall x y i n c rs ls, shows x y -> take_all table x i n c rs = inl ls ->
    (forall r, In r rs -> may_take (slot_in table) as_designed y i r (get n r) (origin_after x i n r)) /\
    (forall r, In r rs -> origin_after x i n r = taken -> get n r <= get c (slot_in table r)) /\
    (forall r, nth r ls None = if mem r rs then Some (Lock i (get n r) (origin_after x i n r)) else locks y r).
  Proof.
    intros x y i n c rs. induction rs as [| r rs IH]; intros ls S H.
    - injection H as <-. split; [intros r [] | split; [intros r [] |]].
      intro r. destruct S as (S1 & S2 & S3 & S4 & S5). cbn. now rewrite S5.
    - cbn in H. destruct (take_all table x i n c rs) as [ls' | why]; [| discriminate].
      destruct (IH ls' S eq_refl) as (I1 & I2 & I3).
      destruct (took table x i r (get n r)) as [o | why] eqn:Et; [| discriminate].
      assert (origin_after x i n r = o) as Eo by (unfold origin_after; now rewrite Et).
      assert (ls = put_at ls' r (Some (Lock i (get n r) o)) None /\
              (o = taken -> get n r <= get c (slot_in table r))) as [-> Hc].
      { destruct o; [| injection H as <-; split; [reflexivity | discriminate] ..].
        destruct (Nat.leb_spec (get n r) (get c (slot_in table r))); [| discriminate].
        injection H as <-. auto. }
      split; [| split].
      + intros r' [<- | Hr]; [| auto]. rewrite Eo. eapply took_may; eassumption.
      + intros r' [<- | Hr] E; [| auto]. rewrite Eo in E. auto.
      + intro r'. rewrite nth_put_at. cbn [mem]. destruct (Nat.eqb_spec r' r) as [-> | D]; [now rewrite Eo | apply I3].
  Qed.

  (* ---- step 4 ------------------------------------------------------------------------------------------ *)

  Lemma confirm_all_may : forall x y i F t c rs ls, shows x y -> confirm_all table x i F t c rs = inl ls ->
    (forall r, In r rs -> exists l, locks y r = Some l /\ by_id l = i /\ number l <= tokens_of F r) /\
    (forall r, In r rs -> tokens_of F r <= get c (slot_in table r)) /\
    (forall r, nth r ls None =
       if mem r rs then Some (Lock i (tokens_of F r) (raised (locks y r) (tokens_of F r))) else locks y r).
  Proof.
    intros x y i F t c rs. induction rs as [| r rs IH]; intros ls S H.
    - injection H as <-. split; [intros r [] | split; [intros r [] |]].
      intro r. destruct S as (S1 & S2 & S3 & S4 & S5). cbn. now rewrite S5.
    - cbn in H. destruct (confirm_all table x i F t c rs) as [ls' | why]; [| discriminate].
      destruct (IH ls' S eq_refl) as (I1 & I2 & I3).
      pose proof S as (S1 & S2 & S3 & S4 & S5). unfold lock_at in H.
      destruct (nth r (c_locks x) None) as [l |] eqn:El; [| discriminate].
      destruct (Nat.eqb_spec (by_id l) i) as [E | D]; [| discriminate]. cbn [negb] in H.
      destruct (Nat.eqb_spec (get t r) (token_of F r)) as [E' | D]; [| discriminate]. cbn [negb] in H.
      destruct (Nat.leb_spec (number l) (token_of F r)) as [Hn | D]; [| discriminate]. cbn [negb] in H.
      destruct (Nat.leb_spec (token_of F r) (get c (slot_in table r))) as [Hc | D]; [| discriminate]. cbn [negb] in H.
      injection H as <-. split; [| split].
      + intros r' [<- | Hr]; [| auto]. exists l. rewrite S5, tokens_of_is. auto.
      + intros r' [<- | Hr]; [| auto]. now rewrite tokens_of_is.
      + intro r'. rewrite nth_put_at. cbn [mem]. destruct (Nat.eqb_spec r' r) as [-> | D]; [| apply I3].
        now rewrite tokens_of_is, S5, El.
  Qed.

  (* ---- what masters were named --------------------------------------------------------------------------- *)

  Lemma view_at_in : forall Q m, In m (map fst Q) -> In (m, view_at Q m) Q.
  Proof.
    intros Q m H. unfold view_at. destruct (find (fun p => fst p =? m) Q) as [p |] eqn:E.
    - apply find_some in E. destruct E as [Hp E]. apply Nat.eqb_eq in E. subst. now destruct p.
    - apply in_map_iff in H. destruct H as (p & Ep & Hp). pose proof (find_none _ _ E p Hp) as X. cbn in X.
      apply Nat.eqb_neq in X. contradiction.
  Qed.

  Lemma once_in : forall Q p, In p (once Q) -> In p Q.
  Proof.
    induction Q as [| q Q IH]; cbn; intros p H; [assumption |].
    destruct (has (fst q) (map fst Q)); [right; auto |]. destruct H as [H | H]; [now left | right; auto].
  Qed.

  Lemma fairly_is : forall Q a, fairly Q a = true -> fair (get (least Q)) (fun m => get (view_at Q m)) (map fst Q) a.
  Proof.
    intros Q a H. unfold fairly in H. cbv zeta in H. rewrite forallb_forall in H.
    assert (forall i, In i (map fst Q) ->
              below (get (least Q)) (get (view_at Q i)) /\
              (forall m, is_of (map fst Q) a m -> get (view_at Q i) m = get (least Q) m) /\
              (forall q, In q Q -> one_alone (least Q) (i, view_at Q i) q = true)) as X.
    { intros i Hi. specialize (H _ (view_at_in Q i Hi)). cbn [fst snd] in H.
      apply andb_prop in H. destruct H as [H H3]. apply andb_prop in H. destruct H as [H1 H2].
      rewrite forallb_forall in H2, H3. split; [exact (all_below_le _ _ H1) | split; [| exact H3]].
      intros m [Hm | Hm]; apply Nat.eqb_eq, H2; destruct a as [b |]; try discriminate; cbn; auto.
      injection Hm as ->. now left. }
    split; [intros i Hi; apply (X i Hi) | split; [intros i m Hi; now apply X |]].
    intros i j w Hi Hj Di Dj. destruct (X i Hi) as (B & _ & Y). specialize (Y _ (view_at_in Q j Hj)).
    unfold one_alone in Y. cbn [fst snd] in Y. apply orb_prop in Y. destruct Y as [Y | Y]; [now apply Nat.eqb_eq |].
    exfalso. rewrite forallb_forall in Y. destruct (Nat.lt_ge_cases w (length (view_at Q i))) as [L | L].
    - specialize (Y w). rewrite in_seq in Y. specialize (Y ltac:(lia)). apply orb_prop in Y.
      destruct Y as [Y | Y]; apply Nat.eqb_eq in Y; contradiction.
    - specialize (B w). assert (get (view_at Q i) w = 0) as Z by (unfold get; now apply nth_overflow). lia.
  Qed.

  Lemma said_answers : forall answers m n s, said answers (m, n) = Some s -> exists V, s = (m, V, n) /\ In s answers.
  Proof.
    intros answers m n [[m' V] n'] H. apply find_some in H. destruct H as [Hin H]. cbn in H.
    apply same_answer_eq in H. injection H as -> ->. now exists V.
  Qed.

  Lemma at_once_answered : forall answers F what m V, In (m, V) (at_once answers F what) ->
    exists n, In (m, n) F /\ In (m, V, n) answers /\ forall r, In r what -> get n r = tokens_of F r.
  Proof.
    intros answers F what m V H. unfold at_once in H. apply in_flat_map in H. destruct H as ([m' n] & Hin & H).
    destruct (said answers (m', n)) as [s |] eqn:E; [| contradiction].
    destruct (said_answers _ _ _ _ E) as (W & -> & Hs). cbn [fst snd] in H.
    destruct (forallb _ what) eqn:Et; [| contradiction]. destruct H as [H | []]. injection H as -> ->.
    exists n. split; [assumption | split; [assumption |]].
    intros r Hr. rewrite tokens_of_is. apply Nat.eqb_eq. revert r Hr. now apply forallb_forall.
  Qed.

  Lemma answered_as_is : forall answers F m V, answered_as answers F m V = true ->
    exists W n, In (m, n) F /\ In (m, W, n) answers /\ get W m = get V m.
  Proof.
    intros answers F m V H. apply existsb_exists in H. destruct H as ([[m' W] n] & Hin & H). cbn [fst snd] in H.
    apply andb_prop in H. destruct H as [H H3]. apply andb_prop in H. destruct H as [H1 H2].
    apply Nat.eqb_eq in H1, H2. subst m'. apply existsb_exists in H3. destruct H3 as (p & Hp & E).
    apply same_answer_eq in E. subst p. now exists W, n.
  Qed.

  Lemma counted_is : forall Q v c, if_counted N Q v = allowed c ->
    majority N (map fst Q) /\ fair (get (least Q)) (fun m => get (view_at Q m)) (map fst Q) None /\ v = allowed c.
  Proof.
    intros Q v c H. unfold if_counted in H. apply needed in H. destruct H as [H1 H]. apply needed in H. destruct H as [H2 H].
    split; [now apply majority_is | split; [now apply fairly_is | assumption]].
  Qed.

  Lemma as_one_is : forall Q, counts_as_one N Q = true ->
    majority N (map fst Q) /\ fair (get (least Q)) (fun m => get (view_at Q m)) (map fst Q) None.
  Proof.
    intros Q H. apply andb_prop in H. destruct H as [H1 H2]. split; [now apply majority_is | now apply fairly_is].
  Qed.

  (* ---- the rejoin ---------------------------------------------------------------------------------------- *)

  Lemma merged_list_is : forall p c f, (forall sl, f sl = get c sl) -> forall sl, get (merged_list p c) sl = merged p f sl.
  Proof.
    induction p as [| [k n] p IH]; intros c f E sl; cbn [merged_list merged]; [now rewrite E |].
    rewrite get_put_at. destruct (Nat.eqb_spec sl k) as [-> | D]; rewrite (IH c f E); reflexivity.
  Qed.

  Lemma was_recorded_is : forall c s j L, shown c s -> was_recorded c j L = true -> In (Recorded j (view_of L)) (history s).
  Proof.
    intros c s j L S H. apply existsb_exists in H. destruct H as ([j' L'] & Hin & H). cbn in H.
    apply andb_prop in H. destruct H as [H1 H2]. apply Nat.eqb_eq in H1. apply same_leader_eq in H2. subst.
    now apply (sh_records c s S).
  Qed.

  Lemma was_read_is : forall c s j L p, shown c s -> was_read c j L p = true -> In (Read j (view_of L) p) (history s).
  Proof.
    intros c s j L p S H. apply existsb_exists in H. destruct H as ([[j' L'] p'] & Hin & H). cbn in H.
    apply andb_prop in H. destruct H as [H H3]. apply andb_prop in H. destruct H as [H1 H2].
    apply Nat.eqb_eq in H1. apply same_leader_eq in H2. apply same_page_eq in H3. subst.
    now apply (sh_reads c s S).
  Qed.

  Lemma was_installed_is : forall c s m I j L sl, shown c s -> was_installed c m I j L sl = true ->
    exists p n, In (Installed m I j (view_of L) p) (history s) /\ In (sl, n) p.
  Proof.
    intros c s m I j L sl S H. apply existsb_exists in H. destruct H as ([[[[m' I'] j'] L'] p] & Hin & H).
    apply andb_prop in H. destruct H as [H H5]. apply andb_prop in H. destruct H as [H H4].
    apply andb_prop in H. destruct H as [H H3]. apply andb_prop in H. destruct H as [H1 H2].
    apply Nat.eqb_eq in H1, H2, H3. apply same_leader_eq in H4. subst.
    apply existsb_exists in H5. destruct H5 as ([k n] & Hp & E). cbn in E. apply Nat.eqb_eq in E. subst.
    exists p, n. split; [now apply (sh_installs c s S) | assumption].
  Qed.

  (* ---- What an action leaves of what was shown -------------------------------------------------------------- *)

  Lemma shown_machine : forall c M h m k x y, shown c (State M h) -> shows x y ->
    shown (with_machine c m k x) (State (put M m k y) h).
  Proof.
    intros c M h m k x y [S1 S2 S3 S4 S5 S6 S7 S8 S9 S10 S11 S12 S13 S14 S15] Hx. constructor; try assumption.
    exact (shows_after_put c M m k x y S1 Hx).
  Qed.

  (* Events that may happen more than once. *)
  Definition silent (e : event) : Prop :=
    match e with
    | Started _ | Frozen _ _ _ | Counting _ | Agreed _ _ | Breaking _ | Marked _ _ _ | Activated _ _ _
    | Installed _ _ _ _ _ => False
    | _ => True
    end.

  Ltac older := match goal with
    | H : In _ (_ :: _) |- _ => destruct H as [H | H]; [subst; cbn in *; first [contradiction | discriminate] | now eauto]
    end.

  Lemma shown_silent : forall c M h e, shown c (State M h) -> silent e -> shown c (State M (e :: h)).
  Proof.
    intros c M h e [S1 S2 S3 S4 S5 S6 S7 S8 S9 S10 S11 S12 S13 S14 S15] Se. cbn [machines history] in *.
    constructor; cbn [machines history]; try assumption; intros;
      try older; auto using try_still_holds, poll_still_holds, ending_still_holds; try (right; now auto).
  Qed.

  Lemma found_try : forall c name e, find_try c name = Some e -> In e (tries c) /\ t_name e = name.
  Proof. intros c name e H. apply find_some in H. destruct H as [H E]. apply Nat.eqb_eq in E. auto. Qed.

  Lemma found_poll : forall c name e, find_poll c name = Some e -> In e (polls c) /\ p_name e = name.
  Proof. intros c name e H. apply find_some in H. destruct H as [H E]. apply Nat.eqb_eq in E. auto. Qed.

  Lemma found_ending : forall c name e, find_ending c name = Some e -> In e (endings c) /\ b_name e = name.
  Proof. intros c name e H. apply find_some in H. destruct H as [H E]. apply Nat.eqb_eq in E. auto. Qed.

  (* A record of the lists is replaced; and an event, where there is one, tells of it. *)
  Ltac replaces found Hf := destruct (found _ _ _ Hf) as [Hin En];
    match goal with S : shown _ _ |- _ => destruct S as [S1 S2 S3 S4 S5 S6 S7 S8 S9 S10 S11 S12 S13 S14 S15] end;
    cbn [machines history] in *; constructor;
    cbn [machines history tries polls endings marks admits records reads installs with_try with_tries with_poll with_polls
         with_ending with_endings];
    [assumption | ..]; intros;
    try match goal with H : In _ (_ :: _) |- _ => destruct H as [H | H]; try discriminate end;
    try match goal with H : In _ (replace _ _ _) |- _ => apply replace_in in H; destruct H as [-> | H] end;
    auto using try_still_holds, poll_still_holds, ending_still_holds; try (right; now eauto); try (now eauto);
    try match goal with H : _ = _ |- exists _, In _ (replace _ _ _) /\ _ =>
      injection H as <-; eexists; split; [apply (replaced _ _ _ _ _ Hf) | split; [reflexivity | assumption]] end;
    try (eapply still_has; [exact Hf | cbn; intuition congruence | now eauto]).

  Lemma shown_try : forall c s e e', shown c s -> find_try c (t_name e') = Some e -> try_holds (history s) e' ->
    (t_frozen e <> None -> t_frozen e' <> None) -> shown (with_try c e') s.
  Proof. intros c [M h] e e' S Hf Ht Hz. replaces found_try Hf. Qed.

  Lemma shown_frozen : forall c M h e e' F t, shown c (State M h) -> find_try c (t_name e') = Some e ->
    try_holds (Frozen (attempt_of e') F t :: h) e' -> t_frozen e' <> None ->
    shown (with_try c e') (State M (Frozen (attempt_of e') F t :: h)).
  Proof. intros c M h e e' F t S Hf Ht Hz. replaces found_try Hf. Qed.

  Lemma shown_poll : forall c s e e', shown c s -> find_poll c (p_name e') = Some e -> poll_holds (history s) e' ->
    (p_agreed e <> None -> p_agreed e' <> None) -> shown (with_poll c e') s.
  Proof. intros c [M h] e e' S Hf Ht Hz. replaces found_poll Hf. Qed.

  Lemma shown_agreed : forall c M h e e' n, shown c (State M h) -> find_poll c (p_name e') = Some e ->
    poll_holds (Agreed (round_of e') n :: h) e' -> p_agreed e' <> None ->
    shown (with_poll c e') (State M (Agreed (round_of e') n :: h)).
  Proof. intros c M h e e' n S Hf Ht Hz. replaces found_poll Hf. Qed.

  Lemma shown_ending : forall c s e e', shown c s -> find_ending c (b_name e') = Some e -> ending_holds (history s) e' ->
    shown (with_ending c e') s.
  Proof. intros c [M h] e e' S Hf Ht. replaces found_ending Hf. Qed.

  (* What imports add: an event, and its place in the lists. *)
  Ltac adds := let H := fresh in intros c M h; intros;
    match goal with S : shown _ _ |- _ => destruct S as [S1 S2 S3 S4 S5 S6 S7 S8 S9 S10 S11 S12 S13 S14 S15] end;
    cbn [machines history] in *;
    constructor;
    cbn [machines history tries polls endings marks admits records reads installs with_mark with_admission with_record
         with_read with_install];
    [assumption | ..]; intros;
    repeat match goal with X : In _ (_ :: _) |- _ => destruct X as [X | X] end; try discriminate;
    try (match goal with X : _ = _ |- _ => injection X as; subst end);
    try (left; reflexivity); try (right; now eauto); auto using try_still_holds, poll_still_holds, ending_still_holds; eauto.

  Lemma shown_marked : forall c M h m k I, shown c (State M h) ->
    shown (with_mark c m k I) (State M (Marked m k I :: h)).
  Proof. adds. Qed.

  Lemma shown_admitted : forall c M h m I L n, shown c (State M h) -> L m = I ->
    shown (with_admission c m I) (State M (Activated m L n :: h)).
  Proof. adds. Qed.

  Lemma shown_recorded : forall c M h j L, shown c (State M h) ->
    shown (with_record c j L) (State M (Recorded j (view_of L) :: h)).
  Proof. adds. Qed.

  Lemma shown_read : forall c M h j L p, shown c (State M h) ->
    shown (with_read c j L p) (State M (Read j (view_of L) p :: h)).
  Proof. adds. Qed.

  Lemma shown_installed : forall c M h m I j L p, shown c (State M h) ->
    shown (with_install c m I j L p) (State M (Installed m I j (view_of L) p :: h)).
  Proof.
    adds. all: try (eexists; left; reflexivity).
    destruct (S12 _ _ _ _ _ H) as (L' & X). exists L'. now right.
  Qed.

  Lemma may_mark_is : forall c s m k I, shown c s -> may_mark c m k I = true -> first_or_copy (history s) m k I.
  Proof.
    intros c s m k I S H k' Hin. apply (sh_marks c s S) in Hin. unfold may_mark in H. rewrite forallb_forall in H.
    specialize (H _ Hin). cbn in H. rewrite !Nat.eqb_refl in H. cbn [andb negb orb] in H.
    apply andb_prop in H. destruct H as [H1 H2]. apply Nat.eqb_eq in H1. apply negb_true_iff in H2.
    unfold done_as in H2. apply orb_false_iff in H2. destruct H2 as [H2 H3]. split; [assumption | split].
    - intros j L p Hi. destruct (sh_installed c s S _ _ _ _ _ Hi) as (L' & HL).
      assert (existsb (fun q => match q with (m', I', _, _, _) => (m' =? m) && (I' =? I) end) (installs c) = true) as X;
        [| congruence].
      apply existsb_exists. exists (m, I, j, L', p). now rewrite !Nat.eqb_refl.
    - intros L n Ha E. apply (sh_admits c s S) in Ha. rewrite E in Ha.
      assert (existsb (fun q => (fst q =? m) && (snd q =? I)) (admits c) = true) as X; [| congruence].
      apply existsb_exists. exists (m, I). cbn. now rewrite !Nat.eqb_refl.
  Qed.

  (* ---- Each action ------------------------------------------------------------------------------------------- *)

  Lemma one_step : forall s s', step s s' -> steps s s'.
  Proof. intros s s' H. eapply next; [exact H | apply done]. Qed.

  Lemma not_frozen_before : forall c s e name, shown c s -> t_name e = name ->
    forallb (fun e' => negb (t_name e' =? name) || match t_frozen e' with None => true | _ => false end) (tries c) = true ->
    forall F t, ~ In (Frozen (attempt_of e) F t) (history s).
  Proof.
    intros c s e name S En H F t Hf. destruct (sh_frozen c s S _ _ _ Hf) as (x & Hx & Ex & Zx).
    rewrite forallb_forall in H. specialize (H x Hx). cbn in Ex. rewrite Ex, En, Nat.eqb_refl in H. cbn in H.
    destruct (t_frozen x); [discriminate | now apply Zx].
  Qed.

  Lemma not_agreed_before : forall c s e name, shown c s -> p_name e = name ->
    forallb (fun e' => negb (p_name e' =? name) || match p_agreed e' with None => true | _ => false end) (polls c) = true ->
    forall n, ~ In (Agreed (round_of e) n) (history s).
  Proof.
    intros c s e name S En H n Hf. destruct (sh_agreed c s S _ _ Hf) as (x & Hx & Ex & Zx).
    rewrite forallb_forall in H. specialize (H x Hx). cbn in Ex. rewrite Ex, En, Nat.eqb_refl in H. cbn in H.
    destruct (p_agreed x); [discriminate | now apply Zx].
  Qed.

  Lemma is_granted_holds : forall h e i r n, try_holds h e -> is_granted i r n e = true ->
    exists a x, In (Granted a x) h /\ In (Started a) h /\ holder a = i /\ In r (what a) /\ n = x r.
  Proof.
    intros h e i r n [H1 H2 H3 H4 H5] H. unfold is_granted in H.
    apply andb_prop in H. destruct H as [H E4]. apply andb_prop in H. destruct H as [H E3].
    apply andb_prop in H. destruct H as [E1 E2]. apply Nat.eqb_eq in E2. apply has_in in E3.
    destruct (t_frozen e) as [F |] eqn:EF; [| discriminate]. apply Nat.eqb_eq in E4.
    exists (attempt_of e), (tokens_of F). rewrite tokens_of_is. repeat split; auto.
  Qed.

  Ltac finds found H_ e Hin En Ef := unfold if_found in H_;
    match type of H_ with match ?f with _ => _ end = _ => destruct f as [e |] eqn:Ef; [| discriminate] end;
    destruct (found _ _ _ Ef) as [Hin En].

  (* The name was not started before: L tells of each start a record in the lists. *)
  Ltac not_before L H_ := let Hin := fresh in let x := fresh in let Hx := fresh in let Ex := fresh in
    intro Hin; destruct (L _ Hin) as (x & Hx & Ex); rewrite forallb_forall in H_; specialize (H_ x Hx);
    cbn in Ex; rewrite Ex, Nat.eqb_refl in H_; discriminate.

  (* A start adds an event, and a record of it. *)
  Ltac starts S := destruct S as [S1 S2 S3 S4 S5 S6 S7 S8 S9 S10 S11 S12 S13 S14 S15]; cbn [machines history] in *;
    constructor;
    cbn [machines history tries polls endings marks admits records reads installs with_tries with_polls with_endings];
    [assumption | ..]; intros;
    try older; auto using try_still_holds, poll_still_holds, ending_still_holds; try (right; now auto);
    match goal with X : In _ (_ :: _) |- _ => destruct X as [X | X];
      [first [ discriminate
             | subst; constructor; cbn; auto; try (intros; contradiction); intros; discriminate
             | injection X as <-; eexists; split; [left; reflexivity | reflexivity] ]
      | let x := fresh in let Hx := fresh in first
          [ solve [auto using try_still_holds, poll_still_holds, ending_still_holds]
          | first [destruct (S3 _ X) as (x & Hx & ?) | destruct (S6 _ X) as (x & Hx & ?) | destruct (S9 _ X) as (x & Hx & ?)
                  | destruct (S4 _ _ _ X) as (x & Hx & ?) | destruct (S7 _ _ X) as (x & Hx & ?)];
            exists x; split; [now right | assumption] ]]
    end.



  Theorem judged : forall c s d c', shown c s -> judge c d = allowed c' -> exists s', steps s s' /\ shown c' s'.
  Proof.
    intros c [M h] d c' S H. pose proof (sh_machines c _ S) as SM. cbn [machines] in SM.
    destruct d; cbn [Checker.judge] in H.
    - (* start *)
      apply needed in H. destruct H as [H1 H]. injection H as <-.
      pose (e := Try name holder what [] None [] false).
      exists (State M (Started (attempt_of e) :: h)). split.
      + apply one_step, Start. not_before (sh_started c _ S) H1.
      + starts S.
    - (* take *)
      finds found_try H e Hin En Ef.
      apply (accepted m _ (M m k)) in H; [| apply SM]. destruct H as [Ha H].
      destruct (take_all table (machine_at c m k) (t_holder e) n c0 (t_what e)) as [ls | why] eqn:Et; [| discriminate].
      apply needed in H. destruct H as [Hr H]. injection H as <-.
      destruct (take_all_may _ _ _ _ _ _ _ (SM m k) Et) as (T1 & T2 & T3).
      pose proof (SM m k) as (M1 & M2 & M3 & M4 & M5).
      pose (o := origin_after (machine_at c m k) (t_holder e) n).
      exists (State (put M m k (locked (M m k) (get V) (get c0) (t_what e) (t_holder e) (get n) o))
                    (Answered (attempt_of e) m (get V) (get n) o :: h)). split.
      + apply one_step. apply Take with (a := attempt_of e); cbn [holder what]; auto.
        * apply (h_started _ _ (sh_tries c _ S e Hin)).
        * intro sl. rewrite M4. now apply all_below_le.
      + apply shown_try with (e := e).
        * apply shown_silent; [| exact I]. apply shown_machine; [assumption |].
          repeat split; cbn; auto; intro r; symmetry; apply T3.
        * cbn. exact Ef.
        * destruct (sh_tries c _ S e Hin) as [H1 H2 H3 H4 H5]. cbn [history] in *. rewrite <- En.
          constructor; cbn [t_answers t_frozen t_confirmed t_granted history]; try (intros; right; now auto).
          -- intros m' V' n' [E | Hm]; [injection E as <- <- <-; exists o; now left |].
             destruct (H2 m' V' n' Hm) as (o' & Ho). exists o'. now right.
          -- intros F m' V' HF Hm. destruct (H4 F m' V' HF Hm) as (o' & Ho). exists o'. now right.
        * cbn. auto.
    - (* freeze *)
      finds found_try H e Hin En Ef.
      apply needed in H. destruct H as [H1 H]. apply needed in H. destruct H as [H2 H]. apply needed in H. destruct H as [H3 H].
      injection H as <-.
      pose (e' := Try name (t_holder e) (t_what e) (t_answers e) (Some F) [] false).
      assert (attempt_of e = attempt_of e') as Ea by (unfold attempt_of; cbn; now rewrite En).
      exists (State M (Frozen (attempt_of e') (answers_of F) (highest (answers_of F)) :: h)).
      destruct (sh_tries c _ S e Hin) as [T1 T2 T3 T4 T5]. rewrite Ea in *. split.
      + apply one_step, Freeze.
        * assumption.
        * intros F' t'. rewrite <- Ea. eapply (not_frozen_before c (State M h)); eauto.
        * rewrite members_of_answers. now apply majority_is.
        * intros m x Hm. unfold answers_of in Hm. apply in_map_iff in Hm. destruct Hm as ([m' n] & E & Hm). cbn in E.
          injection E as <- <-. rewrite forallb_forall in H3. specialize (H3 _ Hm).
          destruct (said (t_answers e) (m', n)) as [s |] eqn:Es; [| discriminate].
          destruct (said_answers _ _ _ _ Es) as (V & -> & Hs). exists (get V). now apply T2.
      + apply shown_frozen with (e := e); auto; [| discriminate].
        constructor; cbn [t_answers t_frozen t_confirmed t_granted history]; try (intros; right; now auto).
        * intros m' V' n' Hm. destruct (T2 m' V' n' Hm) as (o' & Ho). exists o'. now right.
        * intros F' E. injection E as <-. now left.
        * intros F' m' V' E [].
    - (* confirm *)
      finds found_try H e Hin En Ef.
      destruct (t_frozen e) as [F |] eqn:EF; [| discriminate].
      apply (accepted m _ (M m k)) in H; [| apply SM]. destruct H as [Ha H].
      apply needed in H. destruct H as [Hm H].
      destruct (confirm_all table (machine_at c m k) (t_holder e) F t c0 (t_what e)) as [ls | why] eqn:Et; [| discriminate].
      apply needed in H. destruct H as [Hr H]. injection H as <-.
      destruct (confirm_all_may _ _ _ _ _ _ _ _ (SM m k) Et) as (C1 & C2 & C3).
      pose proof (SM m k) as (M1 & M2 & M3 & M4 & M5).
      destruct (sh_tries c _ S e Hin) as [T1 T2 T3 T4 T5]. cbn [history] in *.
      pose (o := fun r => raised (locks (M m k) r) (tokens_of F r)).
      exists (State (put M m k (locked (M m k) (get V) (get c0) (t_what e) (t_holder e) (tokens_of F) o))
                    (Confirmed (attempt_of e) m (get V) (tokens_of F) o :: h)). split.
      + apply one_step. apply Confirm with (a := attempt_of e) (F := answers_of F); cbn [holder what]; auto.
        * intros r Hr'. destruct (C1 r Hr') as (l & L1 & L2 & L3). exists l. split; [assumption | split; [assumption |]].
          cbn. split; [| assumption]. destruct (answered_as_is _ _ _ _ Hm) as (W & n & Hn & Hs & Ew).
          destruct (T2 _ _ _ Hs) as (o' & Ho). exists (get W), (get n), o'. split; [| now split].
          unfold answers_of. apply in_map_iff. now exists (m, n).
        * intro sl. rewrite M4. now apply all_below_le.
      + apply shown_try with (e := e).
        * apply shown_silent; [| exact I]. apply shown_machine; [assumption |].
          repeat split; cbn; auto; intro r; symmetry; apply C3.
        * cbn. exact Ef.
        * rewrite <- En. constructor; cbn [t_answers t_frozen t_confirmed t_granted history]; try (intros; right; now auto).
          -- intros m' V' n' Hm'. destruct (T2 m' V' n' Hm') as (o' & Ho). exists o'. now right.
          -- intros F' E. injection E as <-. right. now apply T3.
          -- intros F' m' V' E [E' | Hm']; injection E as <-; [injection E' as <- <-; exists o; now left |].
             destruct (T4 F m' V' EF Hm') as (o' & Ho). exists o'. now right.
          -- intros F' E X. injection E as <-. right. now apply T5.
        * cbn. discriminate.
    - (* grant *)
      finds found_try H e Hin En Ef.
      destruct (t_frozen e) as [F |] eqn:EF; [| discriminate].
      apply needed in H. destruct H as [H1 H]. cbv zeta in H.
      destruct (counts_as_one N (at_once (t_answers e) F (t_what e)) || counts_as_one N (once (t_confirmed e))) eqn:H2;
        [| match type of H with (if ?b then _ else _) = _ => destruct b end; discriminate]. injection H as <-.
      destruct (sh_tries c _ S e Hin) as [T1 T2 T3 T4 T5]. cbn [history] in *.
      exists (State M (Granted (attempt_of e) (tokens_of F) :: h)). split.
      + apply one_step. apply orb_prop in H2. destruct H2 as [H2 | H2]; apply as_one_is in H2; destruct H2 as [H2 Hf].
        * eapply Grant_at_once with (F := answers_of F); [auto | exact H2 | intros _; exact Hf |].
          intros m Hm. apply view_at_in, at_once_answered in Hm. destruct Hm as (n & Hn & Hs & Et).
          destruct (T2 _ _ _ Hs) as (o & Ho). exists (get n), o.
          split; [unfold answers_of; apply in_map_iff; now exists (m, n) | now split].
        * eapply Grant_confirmed with (F := answers_of F); [auto | exact H2 | intros _; exact Hf |].
          intros m Hm. apply view_at_in, once_in in Hm. now apply T4.
      + apply shown_try with (e := e).
        * apply shown_silent; [assumption | exact I].
        * cbn. exact Ef.
        * rewrite <- En. constructor; cbn [t_answers t_frozen t_confirmed t_granted history]; try (intros; right; now auto).
          -- intros m' V' n' Hm'. destruct (T2 m' V' n' Hm') as (o' & Ho). exists o'. now right.
          -- intros F' E. injection E as <-. right. now apply T3.
          -- intros F' m' V' HF Hm. injection HF as <-. destruct (T4 F m' V' EF Hm) as (o' & Ho). exists o'. now right.
          -- intros F' E _. injection E as <-. now left.
        * cbn. discriminate.
    - (* told *)
      apply needed in H. destruct H as [H1 H]. injection H as <-. exists (State M h). split; [apply done | assumption].
    - (* start counting *)
      apply needed in H. destruct H as [H1 H]. injection H as <-.
      pose (e := Poll name r values [] None).
      exists (State M (Counting (round_of e) :: h)). split.
      + apply one_step, Start_counting. not_before (sh_counting c _ S) H1.
      + starts S.
    - (* count *)
      finds found_poll H e Hin En Ef.
      apply (accepted m _ (M m k)) in H; [| apply SM]. destruct H as [Ha H].
      apply needed in H. destruct H as [Hr H]. injection H as <-. apply Nat.leb_le in Hr.
      pose proof (SM m k) as (M1 & M2 & M3 & M4 & M5).
      destruct (sh_polls c _ S e Hin) as [T1 T2 T3]. cbn [history] in *.
      assert (n - values (round_of e) + values (round_of e) = n) as Eb by (cbn; lia).
      exists (State (put M m k (counted_to (M m k) (get V)
                       (set (counter (M m k)) (slot_in table (p_counts e)) n))) (Counted (round_of e) m (get V) n :: h)). split.
      + apply one_step. rewrite <- Eb at 1 2. apply (Count _ _ _ _ M h (round_of e) m k (get V) (n - values (round_of e))); auto.
        cbn. rewrite M4. lia.
      + apply shown_poll with (e := e).
        * apply shown_silent; [| exact I]. apply shown_machine; [assumption |]. repeat split; cbn; auto.
          intro sl. rewrite get_put_at. unfold set. destruct (sl =? slot_in table (p_counts e)); auto.
        * cbn. exact Ef.
        * rewrite <- En. constructor; cbn [p_answers p_agreed history]; try (intros; right; now auto).
          intros m' V' n' [E | Hm]; [injection E as <- <- <-; now left | right; now apply T2].
        * cbn. auto.
    - (* agree *)
      finds found_poll H e Hin En Ef.
      apply needed in H. destruct H as [H1 H]. apply counted_is in H. destruct H as (H2 & Hf & H). injection H as <-.
      pose (e' := Poll name (p_counts e) (p_values e) (p_answers e) (Some n)).
      assert (round_of e = round_of e') as Ea by (unfold round_of; cbn; now rewrite En).
      destruct (sh_polls c _ S e Hin) as [T1 T2 T3]. cbn [history] in *. rewrite Ea in *.
      exists (State M (Agreed (round_of e') n :: h)). split.
      + apply one_step. eapply Agree.
        * rewrite <- Ea. eapply (not_agreed_before c (State M h)); eauto.
        * exact H2.
        * intros _. exact Hf.
        * cbn. intros m Hm. apply view_at_in, once_in, in_map_iff in Hm. destruct Hm as ([[m' V] n'] & E & Hm).
          cbn in E. injection E as -> ->. apply filter_In in Hm. destruct Hm as [Hm E]. apply Nat.eqb_eq in E. cbn in E.
          subst n'. now apply T2.
      + apply shown_agreed with (e := e); auto; [| discriminate].
        constructor; cbn [p_answers p_agreed history]; try (intros; right; now auto).
        intros n' E. injection E as <-. now left.
    - (* told values *)
      apply needed in H. destruct H as [H1 H]. injection H as <-. exists (State M h). split; [apply done | assumption].
    - (* start breaking *)
      apply needed in H. destruct H as [H1 H]. injection H as <-.
      pose (e := Ending name r token [] false).
      exists (State M (Breaking (break_of e) :: h)). split.
      + apply one_step, Start_breaking. not_before (sh_breaking c _ S) H1.
      + starts S.
    - (* break at a master *)
      finds found_ending H e Hin En Ef.
      apply (accepted m _ (M m k)) in H; [| apply SM]. destruct H as [Ha H].
      apply needed in H. destruct H as [Hr H]. apply needed in H. destruct H as [Ht H]. injection H as <-.
      apply Nat.leb_le in Hr. apply Nat.ltb_lt in Ht.
      pose proof (SM m k) as (M1 & M2 & M3 & M4 & M5).
      destruct (sh_endings c _ S e Hin) as [T1 T2 T3]. cbn [history] in *.
      exists (State (put M m k (counted_to (M m k) (get V)
                       (set (counter (M m k)) (slot_in table (b_broken e)) n))) (Broke (break_of e) m (get V) n :: h)). split.
      + apply one_step. apply (Break_at _ _ _ _ M h (break_of e)); auto. cbn. now rewrite M4.
      + apply shown_ending with (e := e).
        * apply shown_silent; [| exact I]. apply shown_machine; [assumption |]. repeat split; cbn; auto.
          intro sl. rewrite get_put_at. unfold set. destruct (sl =? slot_in table (b_broken e)); auto.
        * cbn. exact Ef.
        * rewrite <- En. constructor; cbn [b_broke b_done history]; try (intros; right; now auto).
          intros m' V' [E | Hm]; [injection E as <- <-; exists n; split; [now left | assumption] |].
          destruct (T2 m' V' Hm) as (n' & Hn' & Hlt). exists n'. split; [now right | assumption].
    - (* broken *)
      finds found_ending H e Hin En Ef.
      apply counted_is in H. destruct H as (H1 & Hf & H). injection H as <-.
      destruct (sh_endings c _ S e Hin) as [T1 T2 T3]. cbn [history] in *.
      exists (State M (Broken (break_of e) :: h)). split.
      + apply one_step. eapply Break_done; [intros _; exact H1 | intros _; exact Hf |].
        intros m Hm. apply view_at_in, once_in in Hm. now apply T2.
      + apply shown_ending with (e := e).
        * apply shown_silent; [assumption | exact I].
        * cbn. exact Ef.
        * rewrite <- En. constructor; cbn [b_broke b_done history]; try (intros; right; now auto).
          -- intros m' V' Hm. destruct (T2 m' V' Hm) as (n' & Hn' & Hlt). exists n'. split; [now right | assumption].
          -- intros _. now left.
    - (* vanish *)
      injection H as <-. pose proof (SM m k) as (M1 & M2 & M3 & M4 & M5).
      eexists. split; [apply one_step, Vanish with (m := m) (k := k) (r := r) |].
      apply shown_machine; [assumption |]. repeat split; cbn; auto.
      intro r'. rewrite nth_put_at. unfold set. destruct (r' =? r); auto.
    - (* rise *)
      apply needed in H. destruct H as [H1 H]. injection H as <-. pose proof (SM m k) as (M1 & M2 & M3 & M4 & M5).
      eexists. split; [apply one_step, Rise with (m := m) (k := k) (c := get c0) |].
      + intro sl. rewrite M4. now apply all_below_le.
      + apply shown_machine; [assumption |]. repeat split; cbn; auto.
    - (* hear *)
      apply (accepted m _ (M m k)) in H; [| apply SM]. destruct H as [Ha H]. injection H as <-.
      pose proof (SM m k) as (M1 & M2 & M3 & M4 & M5).
      eexists. split; [apply one_step, Hear; exact Ha |]. apply shown_machine; [assumption |]. repeat split; cbn; auto.
    - (* join *)
      destruct (find _ (tries c)) as [e |] eqn:Ef; [| discriminate]. apply find_some in Ef. destruct Ef as [Hin Eg].
      apply (accepted m _ (M m k)) in H; [| apply SM]. destruct H as [Ha H].
      apply needed in H. destruct H as [Hl H]. apply needed in H. destruct H as [Hc H]. injection H as <-.
      pose proof (SM m k) as (M1 & M2 & M3 & M4 & M5). apply Nat.leb_le in Hc.
      destruct (is_granted_holds h e holder r n (sh_tries c _ S e Hin) Eg) as (a & x & G1 & G2 & G3 & G4 & G5).
      eexists. split.
      + apply one_step. eapply Join with (m := m) (k := k) (V := get V) (a := a) (r := r) (n := n) (x := x); auto.
        * rewrite M5. unfold lock_at in Hl. now destruct (nth r (c_locks (machine_at c m k)) None).
        * intros _. now rewrite M4.
      + apply shown_silent; [| exact I]. apply shown_machine; [assumption |]. repeat split; cbn; auto.
        * intro sl. rewrite get_put_at. unfold set. destruct (sl =? slot_in table r); auto.
        * intro r'. rewrite nth_put_at. destruct (Nat.eqb_spec r' r); [now rewrite G3 | auto].
    - (* fall *)
      apply needed in H. destruct H as [H1 H]. injection H as <-.
      eexists. split.
      + apply one_step, Fall with (m := m) (k := k)
          (x := Machine (c_state x) (c_lineage x) (get (c_knows x)) (get (c_counter x)) (fun r => nth r (c_locks x) None)).
        cbn. unfold shows_loss in H1. destruct (c_state x), (c_lineage x); auto; discriminate.
      + apply shown_machine; [assumption |]. repeat split; cbn; auto.
    - (* restart *)
      apply needed in H. destruct H as [H1 H]. injection H as <-. pose proof (SM m k) as (M1 & M2 & M3 & M4 & M5).
      eexists. split.
      + apply one_step, Restart with (m := m) (k := k). rewrite M2. unfold is_kept in H1.
        now destruct (c_lineage (machine_at c m k)).
      + apply shown_machine; [assumption |]. repeat split; cbn; auto.
    - (* trust *)
      apply needed in H. destruct H as [H1 H]. injection H as <-. pose proof (SM m k) as (M1 & M2 & M3 & M4 & M5).
      eexists. split.
      + apply one_step, Trust with (m := m) (k := k). intros _. rewrite M2.
        now destruct (c_lineage (machine_at c m k)).
      + apply shown_machine; [assumption |]. repeat split; cbn; auto.
    - (* mark *)
      apply needed in H. destruct H as [H1 H]. injection H as <-. pose proof (SM m k) as (M1 & M2 & M3 & M4 & M5).
      apply andb_prop in H1. destruct H1 as [H1 H2].
      exists (State (put M m k (Machine (joining inc) kept (knows (M m k)) (counter (M m k)) (fun _ => None)))
                    (Marked m k inc :: h)). split.
      + apply one_step, Mark; [intros -> ; discriminate | intros _; now apply (may_mark_is c (State M h))].
      + apply shown_marked, shown_machine; [assumption |]. repeat split; cbn; auto. intros [| r]; reflexivity.
    - (* record *)
      apply (accepted j _ (M j k)) in H; [| apply SM]. destruct H as [Ha H]. injection H as <-.
      pose proof (SM j k) as (M1 & M2 & M3 & M4 & M5).
      eexists. split; [apply one_step, Record_view; exact Ha |].
      apply shown_recorded, shown_machine; [assumption |]. repeat split; cbn; auto.
    - (* read *)
      apply needed in H. destruct H as [H1 H]. apply needed in H. destruct H as [H2 H]. apply needed in H. destruct H as [H3 H].
      apply needed in H. destruct H as [H4 H]. apply needed in H. destruct H as [H5 H]. injection H as <-.
      pose proof (SM j k) as (M1 & M2 & M3 & M4 & M5).
      exists (State M (Read j (view_of L) p :: h)). split.
      + apply one_step. eapply Read_page with (j := j) (k := k).
        * intros _. apply (was_recorded_is c _ _ _ S H1).
        * rewrite M1. unfold is_active in H2. now destruct (c_state (machine_at c j k)).
        * rewrite M2. unfold is_kept in H3. now destruct (c_lineage (machine_at c j k)).
        * rewrite M3. now apply Nat.eqb_eq.
        * intros sl n Hp. rewrite M4. apply Nat.eqb_eq. rewrite forallb_forall in H5. now apply (H5 (sl, n)).
      + now apply shown_read.
    - (* install *)
      apply needed in H. destruct H as [H1 H]. pose proof (SM m k) as (M1 & M2 & M3 & M4 & M5).
      unfold joins_as in H. destruct (c_state (machine_at c m k)) as [| inc |] eqn:Es; try discriminate.
      apply needed in H. destruct H as [H2 H]. apply needed in H. destruct H as [H3 H]. injection H as <-.
      exists (State (put M m k (Machine (joining inc) kept (knows (M m k)) (merged p (counter (M m k))) (locks (M m k))))
                    (Installed m inc j (view_of L) p :: h)). split.
      + apply one_step, Install; auto.
        * apply (was_read_is c _ _ _ _ S H1).
        * rewrite M2. unfold is_kept in H2. now destruct (c_lineage (machine_at c m k)).
        * intros _. now apply Nat.eqb_eq.
      + apply shown_installed, shown_machine; [assumption |]. repeat split; cbn; auto; intro sl; symmetry; now apply merged_list_is.
    - (* install a lock *)
      pose proof (SM m k) as (M1 & M2 & M3 & M4 & M5).
      unfold joins_as in H. destruct (c_state (machine_at c m k)) as [| inc |] eqn:Es; try discriminate.
      apply needed in H. destruct H as [H2 H]. apply needed in H. destruct H as [H3 H]. injection H as <-.
      eexists. split.
      + apply one_step, Install_lock with (m := m) (k := k) (I := inc) (r := r) (l := l); auto.
        * rewrite M2. unfold is_kept in H2. now destruct (c_lineage (machine_at c m k)).
        * now destruct (from l).
      + apply shown_machine; [assumption |]. repeat split; cbn; auto.
        intro r'. rewrite nth_put_at. unfold set. destruct (r' =? r); auto.
    - (* admission *)
      pose proof (SM m k) as (M1 & M2 & M3 & M4 & M5).
      unfold joins_as in H. destruct (c_state (machine_at c m k)) as [| inc |] eqn:Es; try discriminate.
      apply needed in H. destruct H as [H1 H]. apply needed in H. destruct H as [H2 H]. apply needed in H. destruct H as [H3 H].
      apply needed in H. destruct H as [H4 H]. apply needed in H. destruct H as [H5 H]. apply needed in H. destruct H as [H6 H].
      apply needed in H. destruct H as [H7 H]. injection H as <-. apply andb_prop in H7. destruct H7 as [H7 H8].
      assert (map fst (voices_of R) = map fst R) as ER by (unfold voices_of; rewrite map_map; reflexivity).
      pose (L := get (least (voices_of R))). apply fairly_is in H4. rewrite ER in H4.
      exists (State (put M m k (Machine active kept (get W) (counter (M m k)) (locks (M m k))))
                    (Activated m L (counter (M m k)) :: h)). split.
      + apply one_step, Admit with (I := inc) (R := map fst R) (N := fun j => get (view_at (voices_of R) j)); auto.
        * rewrite M2. unfold is_kept in H1. now destruct (c_lineage (machine_at c m k)).
        * intros _. now apply Nat.eqb_eq.
        * intros _. now apply majority_is.
        * intros _. exact H4.
        * intros j Hj. rewrite <- ER in Hj. apply view_at_in in Hj. apply in_map_iff in Hj.
          destruct Hj as ([j' L'] & E & Hj). cbn in E. injection E as -> <-. rewrite forallb_forall in H5, H6.
          split; [apply (was_recorded_is c _ j L' S); exact (H5 _ Hj) |].
          intros sl Hsl. specialize (H6 _ Hj). rewrite forallb_forall in H6.
          now apply (was_installed_is c (State M h)), H6.
        * now apply Nat.eqb_eq.
        * intro i. now apply all_below_le.
      + apply shown_admitted; [| now apply Nat.eqb_eq]. apply shown_machine; [assumption |]. repeat split; cbn; auto.
    - (* the machine has *)
      apply needed in H. destruct H as [H1 H]. injection H as <-. exists (State M h). split; [apply done | assumption].
  Qed.
End Sound.

(* ---- Histories ------------------------------------------------------------------------------------------------ *)

Lemma history_stays : forall slot_of slots quorum rules s s', steps slot_of slots quorum rules s s' ->
  forall e, In e (history s) -> In e (history s').
Proof.
  intros slot_of slots quorum rules s s' H. induction H as [s | s s' s'' H H' IH]; intros e He; [assumption |].
  apply IH. inversion H; subst; cbn in *; auto.
Qed.

Lemma steps_follow : forall slot_of slots quorum rules s s' s'', steps slot_of slots quorum rules s s' ->
  steps slot_of slots quorum rules s' s'' -> steps slot_of slots quorum rules s s''.
Proof. intros until s''. induction 1; intro; [assumption |]. eapply next; eauto. Qed.

(* What a client was told of a grant was granted. *)
Definition told_truly (ds : list action) (h : list event) : Prop :=
  forall i r n, In (Do_told i r n) ds -> exists a x, In (Granted a x) h /\ holder a = i /\ In r (what a) /\ n = x r.

Lemma all_judged : forall N table ds c s c', shown c s -> judge_all N table c ds = allowed c' ->
  exists s', steps (slot_in table) (all_slots table) (majority N) as_designed s s' /\ shown c' s' /\
    told_truly ds (history s').
Proof.
  intros N table. induction ds as [| d ds IH]; intros c s c' S H; cbn in H.
  - injection H as <-. exists s. split; [apply done | split; [assumption |]]. intros i r n [].
  - destruct (judge N table c d) as [c1 | why] eqn:E; [| discriminate].
    destruct (judged N table c s d c1 S E) as (s1 & St1 & S1).
    destruct (IH c1 s1 c' S1 H) as (s' & St & S' & T). exists s'.
    split; [eapply steps_follow; eassumption | split; [assumption |]].
    intros i r n [-> | Hin]; [| now apply T].
    cbn in E. apply needed in E. destruct E as [E _]. apply existsb_exists in E. destruct E as (e & He & E).
    destruct (is_granted_holds (history s) e i r n (sh_tries c s S e He) E) as (a & x & G1 & _ & G3 & G4 & G5).
    exists a, x. split; [| auto].
    eapply history_stays; [exact St |]. eapply history_stays; eassumption.
Qed.

(* At first each member is active, and nothing is locked. *)
Definition first_state : state :=
  State (fun m k => match k with
                    | 0 => Machine active kept (get []) (get []) (fun r => nth r [] None)
                    | _ => Machine out kept (get []) (get []) (fun r => nth r [] None)
                    end) [].

Lemma first_is_shown : shown first_tables first_state.
Proof.
  constructor; cbn; try contradiction.
  intros m k. unfold machine_at. cbn. destruct m, k as [| k]; cbn; try (now repeat split);
    destruct k; cbn; now repeat split.
Qed.

Lemma first_is_initial : initial first_state.
Proof.
  split; [reflexivity |]. intros m k. split; [destruct k; intros [| r]; reflexivity |].
  destruct k; cbn; [| reflexivity]. split; [reflexivity | split].
  - intros [| j]; reflexivity.
  - intro sl. lia.
Qed.

(* What the checker accepts is a run of the model. *)
Theorem accepted_histories_are_runs : forall N table ds c,
  judge_all N table first_tables ds = allowed c ->
  exists s, Model.reachable (slot_in table) (all_slots table) (majority N) as_designed s /\ told_truly ds (history s).
Proof.
  intros N table ds c H. destruct (all_judged N table ds _ _ _ first_is_shown H) as (s & St & _ & T).
  exists s. split; [exists first_state; split; [apply first_is_initial | exact St] | exact T].
Qed.

(* So the theorems hold of it. *)
Theorem accepted_histories_are_in_order : forall N table ds c,
  judge_all N table first_tables ds = allowed c ->
  exists s, told_truly ds (history s) /\ P1 (history s) /\ seats_in_order (slot_in table) (history s) /\
    reader_after_writer (slot_in table) (history s) /\ blocks_in_order (slot_in table) (history s) /\
    breaks_in_order (slot_in table) (history s).
Proof.
  intros N table ds c H. destruct (accepted_histories_are_runs N table ds c H) as (s & R & T). exists s.
  pose proof (all_slots_are_all table) as A.
  split; [exact T | split; [eapply tokens_are_in_order; eassumption |]].
  destruct (seats_are_in_order N _ _ s A R) as [S1 S2]. split; [exact S1 | split; [exact S2 |]].
  split; [eapply counters_are_in_order | eapply breaks_are_in_order]; eassumption.
Qed.
